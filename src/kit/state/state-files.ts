/**
 * The agent's own files on disk, read so that no damaged file stops it. Owns: which state files could
 * not be used in this run of the agent, and what was done about them. In: reads with the decoder of the content,
 * writes. Out: content that was validated, problems for people and metrics. Invariants: reading never
 * throws; what cannot be used is renamed to `<name>.broken`, and neither removed nor overwritten before it
 * was; what can neither be used nor renamed counts as missing, and the new content stays in memory.
 */
import { Cell, type Reading } from "../cell.ts";
import type { Clock } from "../clock.ts";
import { isOutside, messageOf, OutsideError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { MetricsRegistry } from "../metrics.ts";
import type { TaskScope } from "../scope.ts";
import { FailedChanges } from "./failed-changes.ts";
import { freeName } from "./free-name.ts";
import { NO_LINE, type SortedLines, sortLines } from "./sort-lines.ts";
import { exposeStateFiles } from "./state-metrics.ts";
import type { StatePort } from "./state-port.ts";
import { isDiskFull, type StateReserve } from "./state-reserve.ts";

/** A file or folder that the agent keeps for itself. */
export interface StateFile {
  /** Type of the file in metrics: one of a few fixed names, e.g. `pod_status`. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Content for error messages, e.g. `when images were last used`. */
  readonly holds: string;
  /** Of files that follow one another: what they are called together, as `/folder/name-*.jsonl`. */
  readonly series?: string;
  /** Its writes may use the space reserved for a full disk. */
  readonly important?: true;
}

/** Result of a decoder; `broken` also for an unknown version. */
export type DecodedState<T> =
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "broken"; readonly why: string };

/** Problem of a state file. */
export interface StateProblem {
  readonly file: string;
  readonly path: string;
  /**
   * `setAside`: what was there could not be used and was renamed. `unusable`: it could not even be renamed;
   * it counts as missing. `unwritten`: new content cannot be written and is kept in memory only. `refused`:
   * its reader continues without it for now, and it stays as it is.
   */
  readonly kind: "setAside" | "unusable" | "unwritten" | "refused";
  readonly why: string;
  /** Path under which a person finds what was set aside. */
  readonly keptAs?: string;
  readonly holds: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

interface StateFilesDeps {
  readonly files: StatePort;
  readonly clock: Clock;
  readonly log: Log;
  /** Space for the most important writes on a full disk. */
  readonly reserve?: StateReserve;
}

/** Problems that are remembered; the oldest go first. */
const MAX_PROBLEMS = 200;
/** Names of the temporary files of `writeAtomic`. */
const LEFTOVER = /^\.tmp-[0-9a-f]{16}$/;
/** No write takes that long: the process that made an older one is gone. */
const LEFTOVER_AGE_MS = 600_000;
const NO_LINES: SortedLines = { good: [], torn: 0, damaged: 0 };
/** A longer text is cut: it stands in logs and tables. */
const MAX_WHY = 300;

/** See the head of this file. */
export class StateFiles {
  readonly #deps: StateFilesDeps;
  readonly #problems = new Cell<readonly StateProblem[]>([]);
  /** Paths at which something stands that can neither be used nor renamed. */
  readonly #stuck = new Set<string>();
  readonly #setAside = new Map<string, number>();
  /** Folders that were asked for, with their modes: one that could not be made then is made with a file. */
  readonly #folders = new Map<string, number>();
  readonly #failed = new FailedChanges();
  /** Bytes that are read of each file: one that is longer is never written, as it would be set aside at the next start. */
  readonly #limits = new Map<string, number>();

  constructor(deps: StateFilesDeps) {
    this.#deps = deps;
  }

  /** Current problems, and files set aside since the agent was started, oldest first. */
  get problems(): Reading<readonly StateProblem[]> {
    return this.#problems;
  }

  /** Exposes the metrics of state files. */
  expose(metrics: MetricsRegistry): void {
    exposeStateFiles(metrics, this.#problems, this.#setAside);
  }

  /** Keeps space reserved for important writes, and tries again what could not be written: nobody else may do so. */
  keep(scope: TaskScope): void {
    this.#deps.reserve?.keep(scope);
    this.#failed.follow(scope, this.#deps.clock);
  }

  /** Replaces what is tried again for this file by `change`, for a caller that has newer content. */
  tryAgain(file: StateFile, change: () => Promise<void>): void {
    this.#failed.keep(file.path, change);
  }

  /** The file's content; `undefined` when there is none, or none that can be used, which is set aside. */
  async read<T>(
    file: StateFile,
    maxBytes: number,
    decode: (text: string) => DecodedState<T>,
  ): Promise<T | undefined> {
    let why: string;
    this.#limits.set(file.path, maxBytes);
    try {
      const text = await this.#deps.files.readText(file.path, { maxBytes });
      if (text === undefined) return undefined;
      const decoded = decode(text);
      if (decoded.kind === "read") return decoded.value;
      why = decoded.why;
    } catch (error) {
      why = messageOf(error);
    }
    await this.setAside(file, why);
    return undefined;
  }

  /**
   * The lines of a file that is appended to. Where some make no sense, or it is empty, the file is set aside and those that do
   * are rewritten. A line that a crash or a full disk has torn is no damage, at the end or where the whole one follows.
   */
  async readLines(
    file: StateFile,
    { maxBytes, mode }: { readonly maxBytes: number; readonly mode: number },
    isLine: (line: string) => boolean,
  ): Promise<string> {
    let lines: SortedLines = NO_LINES;
    const text = await this.read(file, maxBytes, (all) => {
      if (all === "") return { kind: "broken", why: "it is empty" };
      lines = sortLines(all, isLine);
      const why = `${lines.damaged} of its lines are invalid or of an unknown version`;
      return lines.damaged === 0 ? { kind: "read", value: all } : { kind: "broken", why };
    });
    if (text !== undefined && lines.torn === 0) return text;
    if (this.#stuck.has(file.path)) return "";
    const again = lines.good.map((line) => `${line}\n`).join("");
    if (text !== undefined || again !== "")
      await this.write(file, again || NO_LINE, mode).catch(() => {});
    return again;
  }

  /** The text of a file as it is; empty when there is none, or none that can be read. Renames nothing. */
  async peek(file: StateFile, maxBytes: number): Promise<string> {
    try {
      return (await this.#deps.files.readText(file.path, { maxBytes })) ?? "";
    } catch (error) {
      this.#report(file, { kind: "unusable", why: messageOf(error) });
      return "";
    }
  }

  /** When the file was last written, as Unix milliseconds; `undefined` when it is missing or cannot be read. */
  async modifiedMs(file: StateFile): Promise<number | undefined> {
    try {
      return (await this.#deps.files.facts(file.path))?.modifiedMs;
    } catch {
      return undefined;
    }
  }

  /** Names in a folder; none when it is missing or cannot be read. */
  async list(
    folder: StateFile,
  ): Promise<readonly { readonly name: string; readonly kind: string }[]> {
    try {
      return (await this.#deps.files.list(folder.path)) ?? [];
    } catch (error) {
      this.#report(folder, { kind: "unusable", why: messageOf(error) });
      return [];
    }
  }

  /** Makes sure that there is a folder, without leftovers of writes; what stands in its place is set aside. */
  async makeFolder(folder: StateFile, mode: number): Promise<void> {
    const { files } = this.#deps;
    this.#folders.set(folder.path, mode);
    const make = () => this.#withReserve(folder, () => files.makeDirectory(folder.path, mode));
    try {
      await make();
    } catch (error) {
      try {
        const facts = await files.facts(folder.path);
        if (facts === undefined || facts.kind === "directory") throw error;
        await this.setAside(folder, "it is not a folder");
        await make();
      } catch (again) {
        this.#report(folder, { kind: "unwritten", why: messageOf(again) });
        this.#failed.keep(folder.path, () => this.makeFolder(folder, mode));
        return;
      }
    }
    this.settle(folder);
    await this.clearLeftovers(folder.path);
  }

  /**
   * Removes from a folder what killed writes left behind. What cannot be removed is tried again at the next start.
   */
  async clearLeftovers(path: string): Promise<void> {
    const { files, clock } = this.#deps;
    try {
      for (const { name } of (await files.list(path)) ?? []) {
        if (!LEFTOVER.test(name)) continue;
        const facts = await files.facts(`${path}/${name}`);
        if (facts?.kind !== "file" || facts.modifiedMs > clock.wall() - LEFTOVER_AGE_MS) continue;
        await files.remove(`${path}/${name}`);
      }
    } catch (error) {
      if (!isOutside(error)) throw error;
    }
  }

  /** Replaces the content. Throws `OutsideError`; the problem is reported and ends with the next success. */
  async write(file: StateFile, content: string | Uint8Array, mode: number): Promise<void> {
    const work = async () => {
      checkLength(file, content, this.#limits.get(file.path));
      await this.#deps.files.writeAtomic(file.path, content, mode);
    };
    await this.#failed.run(file.path, () => this.#change(file, work));
  }

  /** Adds to the end, as `write`; with `sync` it survives a power cut. */
  async append(
    file: StateFile,
    text: string,
    mode: number,
    options?: { readonly sync?: boolean },
  ): Promise<void> {
    const add = (more: string) => {
      let lineBreak = "";
      return this.#change(file, () => {
        const whole = `${lineBreak}${more}`;
        // What the disk took of a first attempt may be left there, and is not to become one line with the next.
        lineBreak = "\n";
        return this.#deps.files.append(file.path, whole, mode, options);
      });
    };
    await add(text).catch((error: unknown) => {
      // The text is the caller's to add again. An empty line, which every reader skips, shows that the file can be
      // added to again, also where the caller has nothing more to add; an empty text would do so on a full disk too.
      this.#failed.keep(shownPath(file), () => add("\n"));
      throw error;
    });
  }

  /** Removes the file, as `write`. */
  async remove(file: StateFile): Promise<void> {
    const work = () => this.#deps.files.remove(file.path);
    await this.#failed.run(file.path, () => this.#change(file, work));
  }

  /** Renames what cannot be used to `<name>.broken` and reports it; whether that could be done. */
  async setAside(file: StateFile, why: string): Promise<boolean> {
    try {
      const keptAs = await freeName(file.path, this.#deps);
      await this.#deps.files.rename(file.path, keptAs);
      this.#stuck.delete(file.path);
      this.#setAside.set(file.name, (this.#setAside.get(file.name) ?? 0) + 1);
      this.#report(file, { kind: "setAside", why, keptAs });
      return true;
    } catch (error) {
      this.#stuck.add(file.path);
      this.#report(file, { kind: "unusable", why: `${why}; ${messageOf(error)}` });
      return false;
    }
  }

  /** Reports a problem found elsewhere, e.g. of a row of a database. */
  note(file: StateFile, cause: Pick<StateProblem, "kind" | "why" | "keptAs">): void {
    if (cause.kind === "setAside")
      this.#setAside.set(file.name, (this.#setAside.get(file.name) ?? 0) + 1);
    this.#report(file, cause);
  }

  /** Clears the problems of the file, apart from copies that were set aside. */
  settle(file: StateFile): void {
    const now = this.#problems.get();
    const about = shownPath(file);
    const left = now.filter(({ path, kind }) => path !== about || kind === "setAside");
    if (left.length === now.length) return;
    this.#problems.set(left);
    this.#deps.log.info("state file can be used again", { file: file.name, path: file.path });
  }

  async #change(file: StateFile, work: () => Promise<void>): Promise<void> {
    if (this.#stuck.has(file.path) && !(await this.setAside(file, "it is in the way")))
      throw new OutsideError("precondition", `write ${file.path}: what is there cannot be renamed`);
    try {
      try {
        await this.#withReserve(file, work);
      } catch (error) {
        if (!(await this.#isCured(file, error))) throw error;
        await this.#withReserve(file, work);
      }
    } catch (error) {
      this.#report(file, { kind: "unwritten", why: messageOf(error) });
      throw error;
    }
    this.settle(file);
  }

  /** Makes a folder that is missing; sets aside one that stands where a file is to be written. */
  async #isCured(file: StateFile, error: unknown): Promise<boolean> {
    const parent = file.path.slice(0, file.path.lastIndexOf("/"));
    const mode = this.#folders.get(parent);
    if (mode !== undefined && isOutside(error, "notFound")) {
      await this.makeFolder({ ...file, path: parent }, mode);
      return true;
    }
    const facts = await this.#deps.files.facts(file.path).catch(() => undefined);
    if (facts?.kind !== "directory") return false;
    return await this.setAside(file, "there is a folder in its place");
  }

  async #withReserve(file: StateFile, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { reserve } = this.#deps;
      const full = isDiskFull(error) && file.important === true;
      if (!full || !(await reserve?.release())) throw error;
      await work();
    }
  }

  #report(file: StateFile, cause: Pick<StateProblem, "kind" | "why" | "keptAs">): void {
    const { clock, log } = this.#deps;
    const why = cause.why.length > MAX_WHY ? `${cause.why.slice(0, MAX_WHY)}…` : cause.why;
    const { name, holds } = file;
    const path = cause.kind === "setAside" ? file.path : shownPath(file);
    const now = this.#problems.get();
    const isKnown = now.some((each) => each.path === path && each.kind === cause.kind);
    // A disk that stays full is not news with every write.
    if (isKnown && cause.kind !== "setAside") return;
    const problem: StateProblem = { file: name, path, ...cause, why, holds, atMs: clock.wall() };
    this.#problems.set([...now, problem].slice(-MAX_PROBLEMS));
    const fields = { file: name, path, why, lost: holds };
    switch (cause.kind) {
      case "setAside":
        log.error("state file is damaged; renamed it and continuing without it", {
          ...fields,
          keptAs: cause.keptAs,
        });
        break;
      case "unusable":
        log.error("state file is damaged and cannot be renamed; treating it as missing", fields);
        break;
      case "unwritten":
        log.error("state file cannot be written; its content is kept in memory only", fields);
        break;
      case "refused":
        log.error("state file is unsafe to use and was not changed; continuing without it", fields);
        break;
      default:
        cause.kind satisfies never;
    }
  }
}

function checkLength({ path }: StateFile, content: string | Uint8Array, limit = Infinity): void {
  // Each unit of a text has three bytes at the most.
  if (content.length * 3 <= limit) return;
  const bytes = typeof content === "string" ? Buffer.byteLength(content) : content.length;
  if (bytes <= limit) return;
  const why = `it would have ${bytes} bytes, and no more than ${limit} are read back`;
  throw new OutsideError("exhausted", `write ${path}: ${why}`, { retryable: false });
}

/** A series that cannot be written is one problem, however many files it would have had by now. */
function shownPath({ path, series }: StateFile): string {
  return series ?? path;
}
