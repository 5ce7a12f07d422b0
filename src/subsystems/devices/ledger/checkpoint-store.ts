/** The checkpoint on disk: read once, written after changes, all that changed meanwhile in one go. */
import type { Clock } from "../../../kit/clock.ts";
import type { Counter } from "../../../kit/metrics.ts";
import type { StateFile, StateFiles } from "../../../kit/state/state-files.ts";
import { CheckpointEncoder, decodeCheckpoint, type KeptDevices } from "./checkpoint.ts";

interface CheckpointStoreDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly writes: Counter;
  /** State to write. */
  readonly content: () => KeptDevices;
}

/** State read at start. */
type LoadedCheckpoint =
  | { readonly kind: "read"; readonly kept: KeptDevices }
  /** No file: a new node, or it was removed. */
  | { readonly kind: "missing" }
  /** It was moved aside where possible, for inspection. */
  | { readonly kind: "broken"; readonly why: string; readonly keptAs: string | undefined };

const FILE_MODE = 0o600;
/** A node of 500 pods with 8 devices each needs some 2 MiB; plugins with 100,000 devices some 8. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Changes of what there is are written after this; grants are written at once. */
const LAZY_MS = 1_000;
/** Pause after a write that failed. */
const RETRY_MS = 5_000;

/** The checkpoint's one writer. */
export class CheckpointStore {
  readonly #file: StateFile;
  readonly #deps: CheckpointStoreDeps;
  readonly #encoder = new CheckpointEncoder();
  #text = "";
  /** Changes so far, and how many of them are on disk. */
  #changes = 0;
  #written = 0;
  #writing: Promise<void> | undefined;
  #cancelLazy: (() => void) | undefined;
  #closed = false;

  constructor(path: string, deps: CheckpointStoreDeps) {
    const holds = "devices allocated to containers; recreated from running containers";
    this.#file = { name: "device_checkpoint", path, holds, important: true };
    this.#deps = deps;
  }

  /** Reads what a previous run, or another agent, kept. A file that makes no sense is set aside. */
  async load(): Promise<LoadedCheckpoint> {
    const { state } = this.#deps;
    const { path } = this.#file;
    await state.clearLeftovers(path.slice(0, path.lastIndexOf("/")));
    const read = await state.read(this.#file, MAX_BYTES, (text) => {
      const decoded = decodeCheckpoint(text);
      return decoded.kind === "read" ? { kind: "read", value: decoded } : decoded;
    });
    if (read) return read;
    const problem = state.problems.get().findLast(({ path }) => path === this.#file.path);
    return problem
      ? { kind: "broken", why: problem.why, keptAs: problem.keptAs }
      : { kind: "missing" };
  }

  /** Something changed that may be written later. */
  changed(): void {
    this.#changes += 1;
    if (this.#writing || this.#cancelLazy || this.#closed) return;
    this.#cancelLazy = this.#deps.clock.alarm(LAZY_MS, () => {
      this.#cancelLazy = undefined;
      void this.saved().catch(() => {});
    });
  }

  /** Resolves when everything that changed until now is on disk; rejects when it cannot be written. */
  async saved(): Promise<void> {
    const wanted = this.#changes;
    while (this.#written < wanted) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  /** Writes what is left to be written, as far as that is possible. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelLazy?.();
    await this.saved().catch(() => {});
  }

  async #write(): Promise<void> {
    const { state, clock, writes, content } = this.#deps;
    this.#cancelLazy?.();
    this.#cancelLazy = undefined;
    // Changes made in this turn are written along.
    await Promise.resolve();
    const upTo = this.#changes;
    const text = this.#encoder.encode(content());
    try {
      if (text !== this.#text) {
        await state.write(this.#file, text, FILE_MODE);
        writes.add();
      }
      this.#text = text;
      this.#written = upTo;
    } catch (error) {
      if (!this.#closed)
        this.#cancelLazy ??= clock.alarm(RETRY_MS, () => {
          this.#cancelLazy = undefined;
          void this.saved().catch(() => {});
        });
      throw error;
    }
  }
}
