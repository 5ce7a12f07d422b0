/** The state on disk: read once, replaced whole after each change; changes that come while it is written go together. */
import { UsageError } from "../../kit/errors.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import { decodeCpuState, encodeCpuState } from "./checkpoint.ts";
import type { CpuState } from "./cpu-state.ts";

/** A node of 500 pods needs some 100 KiB. */
const MAX_BYTES = 16 * 1024 * 1024;
const FILE_MODE = 0o600;

/** The file's one reader and writer. */
export class CpuStore {
  readonly #file: StateFile;
  readonly #state: StateFiles;
  readonly #content: () => CpuState;
  #written = "";
  #writing: Promise<void> | undefined;

  constructor(path: string, state: StateFiles, content: () => CpuState) {
    const holds = "which CPUs containers have for themselves";
    this.#file = { name: "cpu_manager", path, holds, important: true };
    this.#state = state;
    this.#content = content;
  }

  /**
   * What was kept under this policy; nothing where the file was damaged, which is set aside. Throws `UsageError` where it is whole
   * and cannot be used: who has which CPUs is not guessed.
   */
  async load(policy: string): Promise<CpuState | undefined> {
    const decoded = await this.#state.read(this.#file, MAX_BYTES, (text) => {
      const value = decodeCpuState(text);
      return value.kind === "broken" ? value : { kind: "read", value };
    });
    if (decoded === undefined) return undefined;
    if (decoded.kind === "refused") throw this.unusable(decoded.why);
    const { policyName, state } = decoded.kept;
    if (policyName === policy) return state;
    throw this.unusable(
      `configured policy "${policy}" differs from state checkpoint policy "${policyName}"`,
    );
  }

  /** The error of a state that cannot be used, with what is to be done. */
  unusable(why: string): UsageError {
    return new UsageError(
      `could not restore state from checkpoint: ${why}, please drain this node and delete the CPU manager checkpoint file "${this.#file.path}" before restarting Kubelet`,
    );
  }

  /** Resolves when the present content is on disk; rejects when it cannot be written. */
  async saved(): Promise<void> {
    while (this.#text() !== this.#written) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  /** Writes in the background; what fails is tried again. */
  save(): void {
    this.saved().catch(() => this.#state.tryAgain(this.#file, () => this.saved()));
  }

  async #write(): Promise<void> {
    const text = this.#text();
    await this.#state.write(this.#file, text, FILE_MODE);
    this.#written = text;
  }

  #text(): string {
    return encodeCpuState("static", this.#content());
  }
}
