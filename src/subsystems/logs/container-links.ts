import { podFullName } from "../../api/pod/pod.ts";
import { containerLogFile, podPaths } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { isFileName } from "../../api/text/path-names.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { FileFacts, PodFiles } from "../../outside/host/host.ts";

/** One attempt of a container. */
interface LinkedContainer {
  readonly pod: IdentifiedPod;
  readonly container: string;
  readonly restartCount: number;
}

const SUFFIX = ".log";
/** Longest name that ext4 takes. */
const MAX_NAME = 255;
const FOLDER_MODE = 0o755;
/** Containers that were made and have not started yet; more are never under way at once. */
const MAX_CREATED = 1_000;

/** `<pod>_<namespace>_<container>-<id>.log`, cut before its end where it is too long (legacy.go). */
export function linkName({ pod, container }: LinkedContainer, containerId: string): string {
  const name = `${podFullName(pod)}_${container}-${containerId}`;
  return `${name.slice(0, MAX_NAME - SUFFIX.length)}${SUFFIX}`;
}

/**
 * Links from one folder to the logs of all containers, for log collectors on the node. They are a
 * convenience: nothing fails because a link cannot be made.
 */
export class ContainerLinks {
  readonly #folder: string;
  readonly #logs: string;
  readonly #files: PodFiles;
  readonly #log: Log;
  readonly #created = new Map<string, LinkedContainer>();
  #dead: ReadonlySet<string> = new Set();

  constructor(
    options: { readonly folder: string; readonly logs: string },
    deps: { readonly files: PodFiles; readonly log: Log },
  ) {
    this.#folder = options.folder;
    this.#logs = options.logs;
    this.#files = deps.files;
    this.#log = deps.log;
  }

  /** A container was made; it is linked when it has started. */
  created(containerId: string, container: LinkedContainer): void {
    // The runtime makes it up, and it becomes part of a file's name.
    if (!isFileName(containerId)) return;
    this.#created.set(containerId, container);
    // One that never starts is mostly reported by `removed`, but not when its sandbox is removed with it.
    for (const oldest of this.#created.keys()) {
      if (this.#created.size <= MAX_CREATED) break;
      this.#created.delete(oldest);
    }
  }

  /** Links the container's log, which is there from now on. */
  async started(containerId: string): Promise<void> {
    const container = this.#created.get(containerId);
    if (!container) return;
    this.#created.delete(containerId);
    const { logs } = podPaths({ root: "", logs: this.#logs }, container.pod);
    const target = `${logs}/${containerLogFile(container.container, container.restartCount)}`;
    const path = `${this.#folder}/${linkName(container, containerId)}`;
    await this.#quietly("make", path, async () => {
      const link = () => this.#files.link(target, path, { ifTargetExists: true });
      try {
        await link();
      } catch (error) {
        // The folder is there but for the first link, or when it was removed.
        if (!isOutside(error, "notFound")) throw error;
        await this.#files.makeDirectory(this.#folder, FOLDER_MODE);
        await link();
      }
    });
  }

  /** Removes the link of a container that was removed. */
  async removed(containerId: string, container: LinkedContainer): Promise<void> {
    if (!isFileName(containerId)) return;
    this.#created.delete(containerId);
    const name = linkName(container, containerId);
    // A name that was cut may be another container's, too: `sweep` removes it when its target is missing.
    if (!name.endsWith(`-${containerId}${SUFFIX}`)) return;
    const path = `${this.#folder}/${name}`;
    await this.#quietly("remove", path, () => this.#files.remove(path));
  }

  /** Removes links that are dangling now and were at the last sweep; while a log is rotated, a link dangles for a moment. */
  async sweep(): Promise<void> {
    await this.#quietly("check", this.#folder, async () => {
      const dead = new Set<string>();
      for (const name of await this.#danglingOf(await this.#names()))
        if (this.#dead.has(name)) await this.#files.remove(`${this.#folder}/${name}`);
        else dead.add(name);
      this.#dead = dead;
    });
  }

  /** Dangling links: asks for all at once; where that fails, for each alone. */
  async #danglingOf(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    const paths = names.map((name) => `${this.#folder}/${name}`);
    const follow = { follow: true };
    const facts = await this.#files.factsOfAll(paths, follow).catch(async (error: unknown) => {
      if (!isOutside(error)) throw error;
      const each: (FileFacts | undefined)[] = [];
      for (const path of paths) each.push(await this.#files.facts(path, follow));
      return each;
    });
    return names.filter((_, i) => facts[i] === undefined);
  }

  async #names(): Promise<readonly string[]> {
    const entries = (await this.#files.list(this.#folder)) ?? [];
    return entries
      .filter(({ name, kind }) => kind === "link" && name.endsWith(SUFFIX))
      .map(({ name }) => name);
  }

  async #quietly(verb: string, path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.warn("failed to update links to container logs", { verb, path, error });
    }
  }
}
