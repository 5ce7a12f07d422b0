/**
 * Logs of containers. Owns: the links in the folder of all logs, and the readers. In: queries of logs, containers
 * that were created. Out: text. Invariants: nothing outside the log folder is ever
 * read, renamed or removed, whatever a container plants there; memory of a reader is bounded; a slow reader slows only itself.
 *
 * Example:
 *     const logs = new Logs({ root: "/var/log/pods", linkFolder }, { files, openFolder, clock, log, reopen });
 *     await using reading = await logs.open(path, query, ended);
 */
import { containerLogFile, podPaths } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { PodFiles } from "../../outside/host/host.ts";
import type { OpenFolderBeneath } from "../../outside/serving.ts";
import { ContainerLinks } from "./container-links.ts";
import { NewLogFolders } from "./new-log-folders.ts";
import { type LogQuery, LogReading } from "./read-log.ts";
import { type RotationLimits, type RunningLog, removeLog, rotateLog } from "./rotate-log.ts";

export type { LogStream } from "./fragments.ts";
export type { LogQuery, LogReading, WriteLog } from "./read-log.ts";
export type { RunningLog } from "./rotate-log.ts";

/** Folders of logs and of links to them. */
interface LogsOptions {
  /** Folder that holds all logs of pods (`podLogsDir`). */
  readonly root: string;
  /** Folder of the links, one for each container. */
  readonly linkFolder: string;
}

interface LogsDeps {
  readonly files: PodFiles;
  /** Absent where logs cannot be read (a simulation). */
  readonly openFolder: OpenFolderBeneath | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the runtime to write the container's log to a new file. */
  readonly reopen: (containerId: string, signal: AbortSignal) => Promise<void>;
}

/** Logs read at once; each takes a few files and a watch. */
const MAX_READERS = 256;

/** An attempt of a container whose log is meant. */
interface LoggedAttempt {
  readonly pod: IdentifiedPod;
  readonly id: string;
  readonly container: string;
  readonly restartCount: number;
}

/** All logs of the node. */
export class Logs {
  readonly links: ContainerLinks;
  readonly #newFolders = new NewLogFolders();
  readonly #options: LogsOptions;
  readonly #deps: LogsDeps;
  #readers = 0;

  constructor(options: LogsOptions, deps: LogsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.links = new ContainerLinks(
      { folder: options.linkFolder, logs: options.root },
      { files: deps.files, log: deps.log },
    );
  }

  /** Rotates the log of a running container when it is too large; see `rotateLog`. */
  rotate(log: RunningLog, limits: RotationLimits, signal: AbortSignal): Promise<boolean> {
    return rotateLog({ ...log, root: this.#options.root }, limits, this.#deps, signal);
  }

  /** The folder of the pod's logs was missing and has been made: no container of the pod has a log in it. */
  folderMade({ metadata: { uid } }: IdentifiedPod): void {
    this.#newFolders.made(uid);
  }

  /** Forgets the folder of the pod's logs, which was removed. */
  folderRemoved({ metadata: { uid } }: IdentifiedPod): void {
    this.#newFolders.forget(uid);
  }

  /** Removes the files and the link of an attempt that the runtime has removed. Never throws. */
  async removed({ pod, id, container, restartCount }: LoggedAttempt): Promise<void> {
    const { logs } = podPaths({ root: "", logs: this.#options.root }, pod);
    const path = `${logs}/${containerLogFile(container, restartCount)}`;
    try {
      await removeLog({ root: this.#options.root, path }, this.#deps.files);
    } catch (error) {
      this.#deps.log.warn("failed to remove the log of a removed container", { path, error });
    }
    await this.links.removed(id, { pod, container, restartCount });
  }

  /**
   * The number of the next attempt by the logs that are there: one more than the highest, 0 without any. For
   * containers that the runtime has forgotten (kuberuntime calcRestartCountByLogDir).
   */
  async nextAttempt(pod: IdentifiedPod, container: string): Promise<number> {
    if (this.#newFolders.takeEmpty(pod.metadata.uid, container)) return 0;
    const { logs } = podPaths({ root: "", logs: this.#options.root }, pod);
    const entries = (await this.#deps.files.list(`${logs}/${container}`)) ?? [];
    const numbers = entries.flatMap(({ name }) => /^(\d+)\.log(\..*)?$/.exec(name)?.[1] ?? []);
    return numbers.reduce((next, number) => Math.max(next, Number(number) + 1), 0);
  }

  get readers(): number {
    return this.#readers;
  }

  /**
   * Finds the log at `path`, as the runtime names it, and where reading begins. Errors: "notFound",
   * "precondition" (a link, or outside the log folder), "exhausted" (too many readers).
   */
  async open(path: string, query: LogQuery, ended: Reading<boolean>): Promise<LogReading> {
    const { openFolder, clock, log } = this.#deps;
    const { root } = this.#options;
    if (!openFolder) throw new OutsideError("unimplemented", "logs cannot be read here");
    if (!path.startsWith(`${root}/`))
      throw new OutsideError("precondition", `the log ${path} is not below ${root}`);
    if (this.#readers >= MAX_READERS)
      throw new OutsideError("exhausted", `${MAX_READERS} logs are already being read`);
    this.#readers += 1;
    try {
      const end = path.lastIndexOf("/");
      const folder = await openFolder(
        root,
        path.slice(root.length + 1, Math.max(end, root.length + 1)),
      );
      if (!folder) throw new OutsideError("notFound", `log ${path} does not exist`);
      return await LogReading.open(folder, path.slice(end + 1), query, {
        clock,
        ended,
        onBroken: (name, error) => log.warn("failed to read a rotated log", { path, name, error }),
        onClose: () => {
          this.#readers -= 1;
        },
      });
    } catch (error) {
      this.#readers -= 1;
      throw error;
    }
  }
}
