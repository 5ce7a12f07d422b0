/**
 * Other agents on this machine. Owns: the file that registers this agent's root folder, and its lock. In: such files and pod folders of
 * other agents. Out: the pods of other agents, and whether those agents run. Invariants: a pod with a folder in this agent's root is its own;
 * what cannot be found out is never reported as "nobody's".
 *
 * Example:
 *     const neighbors = new Neighbors(root, { host, clock, log, scope });
 *     await neighbors.announce();
 *     const owners = await neighbors.ownersOf(uids);
 */
import type { PodOwner } from "../../api/pod-owner.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Host } from "../../outside/host/host.ts";
import { AGENT_ROOTS, rootNote, rootOfNote, USUAL_ROOTS } from "./agent-roots.ts";

export { AGENT_ROOTS, rootNote } from "./agent-roots.ts";

interface NeighborsDeps {
  readonly host: Pick<Host, "files" | "podFiles" | "locks">;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** Others hold the lock of a note for moments, when they check whether its agent runs. */
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 25;

/** See the head of this file. */
export class Neighbors {
  readonly #root: string;
  readonly #deps: NeighborsDeps;
  /** Roots whose agents were not running at the last check, since when. */
  readonly #goneSince = new Map<string, MonotonicMs>();
  /** Whose the pods were that were asked for last: an agent removes a pod's folder before the runtime reports its end. */
  #rootOf = new Map<string, string>();

  constructor(root: string, deps: NeighborsDeps) {
    this.#root = root;
    this.#deps = deps;
  }

  /** Whether it can be found out which agents run; not in a simulation. */
  get canDetect(): boolean {
    return this.#deps.host.locks !== undefined;
  }

  /** Lets other agents know of this one, from before it has pods until it ends. Never throws, but the signal's reason. */
  async announce(): Promise<void> {
    const { host, log, scope } = this.#deps;
    const note = rootNote(this.#root);
    try {
      await host.files.makeDirectory(AGENT_ROOTS, 0o755);
      if (!host.locks) await host.files.writeAtomic(note, "", 0o644);
      const lock = await this.#lock(note);
      scope.defer("note of the root folder", () => lock?.[Symbol.dispose]());
    } catch (error) {
      if (!isOutside(error)) throw error;
      log.warn("failed to record the root folder for other agents on this machine", { error });
    }
  }

  async #lock(note: string): Promise<Disposable | undefined> {
    const { host, clock, scope } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await host.locks?.take(note);
      } catch (error) {
        if (!isOutside(error, "alreadyExists") || attempt === LOCK_ATTEMPTS) throw error;
        await clock.sleep(LOCK_PAUSE_MS, scope.signal);
      }
    }
  }

  /**
   * UIDs of pods that have a folder in another agent's root folder; `undefined` when that cannot be found out, which is
   * logged.
   */
  async podsOfOthers(): Promise<ReadonlySet<string> | undefined> {
    const roots = await this.#podsByRoot();
    return roots && new Set([...roots.values()].flatMap((pods) => [...pods]));
  }

  /** The owners of those of the pods that are another agent's. */
  async ownersOf(uids: readonly string[]): Promise<ReadonlyMap<string, PodOwner>> {
    // Theirs before ours: a pod has its folder before anything else.
    const theirs = await this.#podsByRoot();
    const own = await this.#listPods(this.#root);
    if (theirs === undefined || own === undefined) {
      const unsure = own ? uids.filter((uid) => !own.has(uid)) : uids;
      return new Map(unsure.map((uid) => [uid, { kind: "unknown" }]));
    }
    const strange = new Set(uids);
    for (const uid of own) strange.delete(uid);
    const owners = new Map<string, PodOwner>();
    const rootOf = new Map<string, string>();
    for (const [root, pods] of theirs) {
      const found = [...strange].filter((uid) => pods.has(uid) || this.#rootOf.get(uid) === root);
      if (found.length === 0) continue;
      const owner = await this.#ownerOf(root);
      for (const uid of found) {
        // One that runs counts before one that is gone.
        if (owner.kind === "gone" && owners.has(uid)) continue;
        owners.set(uid, owner);
        rootOf.set(uid, root);
      }
    }
    this.#rootOf = rootOf;
    return owners;
  }

  async #ownerOf(root: string): Promise<PodOwner> {
    const { host, clock, log } = this.#deps;
    const note = rootNote(root);
    try {
      const exists = (await host.files.facts(note)) !== undefined;
      if (exists && (await host.locks?.isHeld(note))) {
        this.#goneSince.delete(root);
        return { kind: "running", root };
      }
    } catch (error) {
      if (!isOutside(error)) throw error;
      log.warn("failed to find out whether another agent runs", { root, error });
      return { kind: "unknown" };
    }
    const now = clock.monotonic();
    const since = this.#goneSince.get(root) ?? now;
    this.#goneSince.set(root, since);
    return { kind: "gone", root, forMs: now - since };
  }

  /** Names of folders of pods, by the root folders of other agents. */
  async #podsByRoot(): Promise<ReadonlyMap<string, ReadonlySet<string>> | undefined> {
    const { host, log } = this.#deps;
    const pods = new Map<string, ReadonlySet<string>>();
    try {
      const notes = (await host.files.list(AGENT_ROOTS)) ?? [];
      const roots = new Set<string>(USUAL_ROOTS);
      for (const { name } of notes) {
        const root = rootOfNote(name);
        if (root !== undefined) roots.add(root);
      }
      roots.delete(this.#root);
      for (const root of roots) {
        const found = await this.#listPods(root);
        if (found === undefined) return undefined;
        pods.set(root, found);
      }
      return pods;
    } catch (error) {
      if (!isOutside(error)) throw error;
      log.warn("failed to list pods of other agents", { error });
      return undefined;
    }
  }

  async #listPods(root: string): Promise<ReadonlySet<string> | undefined> {
    const { host, log } = this.#deps;
    try {
      const found = (await host.podFiles.list(`${root}/pods`)) ?? [];
      return new Set(found.map(({ name }) => name));
    } catch (error) {
      if (!isOutside(error)) throw error;
      log.warn("failed to list pods of an agent", { root, error });
      return undefined;
    }
  }
}
