/** The claims on disk: read once, replaced whole after each change; changes that come while it is written go together. */
import { UsageError } from "../../kit/errors.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import { decodeClaims, encodeClaims } from "./checkpoint.ts";
import type { ClaimInfo } from "./claim-info.ts";

/** A node of 500 pods, each with a claim of 32 devices, needs some 5 MiB. */
const MAX_BYTES = 32 * 1024 * 1024;
const FILE_MODE = 0o600;

/** The file's one reader and writer. */
export class ClaimStore {
  readonly #file: StateFile;
  readonly #state: StateFiles;
  readonly #content: () => readonly ClaimInfo[];
  #written: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(path: string, state: StateFiles, content: () => readonly ClaimInfo[]) {
    const holds = "which resource claims are prepared for which pods";
    this.#file = { name: "dra_manager", path, holds, important: true };
    this.#state = state;
    this.#content = content;
  }

  /** What was kept. Throws `UsageError` where it cannot be used: what is prepared for whom is not guessed. */
  async load(): Promise<readonly ClaimInfo[]> {
    const decoded = await this.#state.read(this.#file, MAX_BYTES, (text) => ({
      kind: "read",
      value: decodeClaims(text),
    }));
    if (decoded === undefined) return [];
    if (decoded.kind === "read") return decoded.claims;
    throw new UsageError(
      `create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: ${decoded.why}; drain this node and remove "${this.#file.path}" before restarting`,
    );
  }

  /** Resolves when the present content is on disk; rejects when it cannot be written. */
  async saved(): Promise<void> {
    while (encodeClaims(this.#content()) !== this.#written) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    const text = encodeClaims(this.#content());
    await this.#state.write(this.#file, text, FILE_MODE);
    this.#written = text;
  }
}
