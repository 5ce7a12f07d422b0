/**
 * Moves running containers to the CPUs that they may use. Owns: what each container was last given. In: facts of pods, which
 * containers may use what. Out: updates of containers in the runtime, for those whose CPUs changed only. A container that was
 * made with other CPUs than it may use by now is moved when it is seen to run.
 */
import type { PodUid } from "../../api/observation.ts";
import type { PodFact, PodFacts } from "../../api/pod-facts.ts";
import type { Clock } from "../../kit/clock.ts";
import { inParallel } from "../../kit/in-parallel.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";

interface CpusetsDeps {
  readonly pods: PodFacts;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  /** List of the CPUs that a container may use; empty for all. */
  readonly wanted: (uid: PodUid, container: string) => string;
  readonly update: (containerId: string, cpus: string, signal: AbortSignal) => Promise<void>;
  /** How soon what failed is tried again (`cpuManagerReconcilePeriod`). */
  readonly retryMs: number;
}

/** A container that may use other CPUs than it was given. */
interface Move {
  readonly uid: PodUid;
  readonly id: string;
  readonly container: string;
  readonly cpus: string;
}

/** Updates in flight: a runtime answers one in some 10 ms. */
const WIDTH = 8;

/** The module's hand in the runtime; see above. */
export class Cpusets {
  readonly #deps: CpusetsDeps;
  /** What containers were given, by pod and id. */
  readonly #given = new Map<PodUid, Map<string, string>>();
  /** With what containers were last made, by pod and name. */
  readonly #made = new Map<PodUid, Map<string, string>>();
  #moving: Promise<void> | undefined;
  #again = false;
  #cancelRetry: (() => void) | undefined;

  constructor(deps: CpusetsDeps) {
    this.#deps = deps;
  }

  /** Follows containers as they are seen to run. */
  follow(): void {
    const { pods, scope } = this.#deps;
    const stop = pods.subscribe((uid, fact) => {
      if (fact === undefined) return this.#forget(uid);
      this.#forgetGone(fact);
      if (this.#movesOf(fact).length > 0) void this.apply();
    });
    scope.defer("cpusets", () => {
      stop();
      this.#cancelRetry?.();
    });
  }

  /** Notes with which CPUs a container is made. */
  made(uid: PodUid, container: string, cpus: string): void {
    const made = this.#made.get(uid) ?? new Map<string, string>();
    this.#made.set(uid, made.set(container, cpus));
  }

  /** Resolves when every container that runs was given what it may use now, or that has failed. */
  apply(): Promise<void> {
    this.#again = true;
    this.#moving ??= this.#applyAll().finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  async #applyAll(): Promise<void> {
    const { pods, scope } = this.#deps;
    let failed = false;
    while (this.#again && !scope.signal.aborted) {
      this.#again = false;
      const moves = pods.values().flatMap((fact) => this.#movesOf(fact));
      const outcomes = await inParallel(moves, WIDTH, (move) => this.#move(move));
      failed = outcomes.some((outcome) => outcome.kind === "failed");
    }
    if (failed) this.#retryLater();
  }

  async #move({ uid, id, container, cpus }: Move): Promise<void> {
    const { update, log, scope } = this.#deps;
    try {
      await update(id, cpus, scope.signal);
      this.#givenOf(uid).set(id, cpus);
      log.verbose(2, "container moved to other CPUs", { uid, container, cpus });
    } catch (error) {
      if (!scope.signal.aborted)
        log.warn("failed to move a container to other CPUs", { uid, container, id, cpus, error });
      throw error;
    }
  }

  #movesOf({ uid, observed, life }: PodFact): readonly Move[] {
    if (life === "released") return [];
    return observed.containers.flatMap(({ id, name, state }) => {
      if (state !== "running") return [];
      const cpus = this.#deps.wanted(uid, name);
      if (cpus === "" || this.#lastGiven(uid, name, id) === cpus) return [];
      return [{ uid, id, container: name, cpus }];
    });
  }

  /** A container that was made in this run of the agent has what it was made with. */
  #lastGiven(uid: PodUid, name: string, id: string): string | undefined {
    const given = this.#given.get(uid)?.get(id);
    if (given !== undefined) return given;
    const made = this.#made.get(uid)?.get(name);
    if (made === undefined) return undefined;
    this.#made.get(uid)?.delete(name);
    this.#givenOf(uid).set(id, made);
    return made;
  }

  #givenOf(uid: PodUid): Map<string, string> {
    const found = this.#given.get(uid) ?? new Map<string, string>();
    this.#given.set(uid, found);
    return found;
  }

  /** A container that is restarted for ever leaves nothing behind. */
  #forgetGone({ uid, observed }: PodFact): void {
    const given = this.#given.get(uid);
    if (!given || given.size <= observed.containers.length) return;
    const there = new Set(observed.containers.map(({ id }) => id));
    for (const id of given.keys()) if (!there.has(id)) given.delete(id);
  }

  #forget(uid: PodUid): void {
    this.#given.delete(uid);
    this.#made.delete(uid);
  }

  #retryLater(): void {
    const { clock, retryMs, scope } = this.#deps;
    if (scope.signal.aborted) return;
    this.#cancelRetry?.();
    this.#cancelRetry = clock.alarm(retryMs, () => void this.apply());
  }
}
