import type {
  Observation,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
  PodUid,
} from "../../api/observation.ts";
import { containerHash } from "../../api/pod/container-hash.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import { allValues, inParallel, type Outcome } from "../../kit/in-parallel.ts";
import { within } from "../../kit/within.ts";
import type {
  Container,
  ImageService,
  PodSandbox,
  PodSandboxStatus,
  RuntimeService,
} from "../../outside/cri/cri.ts";
import type { FailedObservation } from "./degraded-pods.ts";
import { POD_UID, podOfLabels } from "./labels.ts";
import { newestContainerFirst, newestSandboxFirst } from "./newest-first.ts";
import { podFromLabels, readContainer, readSandbox } from "./read-observation.ts";
import { type ReadTail, terminationMessage } from "./termination-message.ts";

/** Status calls under way at once for the sandboxes or the containers of one pod. */
const STATUS_CALLS = 8;
/** Time for the status of one sandbox or container: runtimes answer from memory. */
export const STATUS_WITHIN_MS = 10_000;

export interface ObserveDeps {
  readonly runtime: RuntimeService;
  readonly images: Pick<ImageService, "imageStatus">;
  readonly clock: Clock;
  readonly readTail: ReadTail;
}

/** A pod of which something could not be read. */
type FailedPodObservation = FailedObservation & { readonly kind: "failed" };

/** The outcome of observing one pod; `outdated` when a later observation was faster. */
export type PodObservation = ObservedPod | FailedPodObservation | { readonly kind: "outdated" };

/** A pod that changed since it was last reported. */
export interface ChangedPod {
  readonly uid: PodUid;
  readonly asOf: MonotonicMs;
  readonly describe: () => IdentifiedPod;
  /** Not reported yet. */
  readonly isNew: boolean;
  /** Reads what changed. Rejects with the signal's reason only. */
  readonly observe: (signal: AbortSignal) => Promise<PodObservation>;
}

/** Result of listing everything. */
export interface Listing {
  readonly changed: readonly ChangedPod[];
  /** Pods that the runtime has nothing of any more. */
  readonly vanished: readonly ObservedPod[];
}

interface Lists {
  readonly asOf: MonotonicMs;
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
}

/**
 * Reads what the runtime has, pod by pod. A status is asked for only when a sandbox or container is new
 * or changed its state: everything else about it stays as it was.
 */
export class Observer {
  readonly #deps: ObserveDeps;
  readonly #containers = new Map<
    string,
    { readonly state: number; readonly observed: ObservedContainer }
  >();
  readonly #sandboxes = new Map<
    string,
    { readonly state: number; readonly observed: ObservedSandbox }
  >();
  /** Statuses of new sandboxes that were requested to start their containers, until they are observed. */
  readonly #statusesAhead = new Map<string, PodSandboxStatus>();
  readonly #stopped = new Set<string>();
  readonly #podOf = new Map<string, { readonly uid: PodUid; readonly since: MonotonicMs }>();
  /** The last report of each pod, as ids and states, with its time. */
  readonly #reported = new Map<
    PodUid,
    { readonly signature: string; readonly asOf: MonotonicMs }
  >();

  constructor(deps: ObserveDeps) {
    this.#deps = deps;
  }

  /** The pod a container or sandbox belongs to, if it was ever seen. */
  podOf(containerId: string): PodUid | undefined {
    return this.#podOf.get(containerId)?.uid;
  }

  /** Whether the container or sandbox was running when it was last observed, or was never observed. */
  mayRun(id: string): boolean {
    const container = this.#containers.get(id)?.observed;
    if (container) return container.state === "running";
    const sandbox = this.#sandboxes.get(id)?.observed;
    return sandbox ? sandbox.ready : this.#podOf.has(id);
  }

  /** How many containers are in each state, and how many sandboxes are ready. */
  counts(): {
    readonly containers: Readonly<Record<string, number>>;
    readonly readySandboxes: number;
  } {
    const containers: Record<string, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
    for (const { observed } of this.#containers.values())
      containers[observed.state] = (containers[observed.state] ?? 0) + 1;
    let readySandboxes = 0;
    for (const { observed } of this.#sandboxes.values()) if (observed.ready) readySandboxes += 1;
    return { containers, readySandboxes };
  }

  /** Remembers that a sandbox was stopped: of one that was dead before, the runtime shows no difference. */
  stopped(sandboxId: string): void {
    this.#stopped.add(sandboxId);
    const known = this.#sandboxes.get(sandboxId);
    if (known && !known.observed.ready)
      this.#sandboxes.set(sandboxId, { ...known, observed: { ...known.observed, stopped: true } });
  }

  /** Remembers whose a sandbox or container is before it was ever listed. */
  learn(containerId: string, uid: PodUid): void {
    this.#podOf.set(containerId, { uid, since: this.#deps.clock.monotonic() });
  }

  /** Takes the status of a sandbox that others have requested, so that it is not requested again. */
  takeStatus(status: PodSandboxStatus): void {
    if (status.network?.ip) this.#statusesAhead.set(status.id, status);
  }

  /**
   * Everything the runtime has of one pod. What cannot be read of it is an outcome; throws when the runtime
   * cannot list.
   */
  async observePod(uid: PodUid, signal: AbortSignal): Promise<ObservedPod | FailedPodObservation> {
    for (;;) {
      const lists = await this.#list({ labelSelector: { [POD_UID]: uid } }, signal);
      this.#forget((owner) => owner === uid, lists);
      const observation = await this.#observe(uid, lists, signal);
      // An observation that began later was faster: its result would be overridden by this one.
      if (observation.kind !== "outdated") return observation;
    }
  }

  /** Lists everything: which pods changed since they were last reported, and which vanished. */
  async listAll(signal: AbortSignal): Promise<Listing> {
    const lists = await this.#list({}, signal);
    const byPod = groupByPod(lists);
    const changed = [...byPod].filter(
      ([uid, ofPod]) => this.#reported.get(uid)?.signature !== signatureOf(ofPod),
    );
    const vanished = [...this.#reported].flatMap(([uid, { asOf }]) =>
      byPod.has(uid) || asOf > lists.asOf ? [] : [uid],
    );
    for (const uid of vanished) this.#reported.delete(uid);
    this.#forget(() => true, lists);
    const observed = { asOf: lists.asOf, sandboxes: [], containers: [] };
    return {
      changed: changed.map(([uid, ofPod]) => ({
        uid,
        asOf: lists.asOf,
        describe: () => podFromLabels(ofPod.sandboxes, ofPod.containers),
        isNew: !this.#reported.has(uid),
        observe: (own) => this.#observe(uid, ofPod, own),
      })),
      vanished: vanished.map((uid) => ({
        kind: "observed",
        uid,
        observed,
        describe: () => podFromLabels([], []),
      })),
    };
  }

  /** Reads what is listed of one pod. Its errors concern this pod alone. */
  async #observe(uid: PodUid, lists: Lists, signal: AbortSignal): Promise<PodObservation> {
    const { asOf } = lists;
    const describe = () => podFromLabels(lists.sandboxes, lists.containers);
    try {
      const observed = await this.#observation(uid, lists, signal);
      if (!this.#mayReport(uid, asOf)) return { kind: "outdated" };
      this.#markReported(uid, lists);
      return { kind: "observed", uid, observed, describe };
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#mayReport(uid, asOf)) return { kind: "outdated" };
      return { kind: "failed", uid, asOf, describe, problem: messageOf(error) };
    }
  }

  #mayReport(uid: PodUid, asOf: MonotonicMs): boolean {
    const reported = this.#reported.get(uid);
    return reported === undefined || reported.asOf <= asOf;
  }

  #markReported(uid: PodUid, lists: Lists): void {
    this.#reported.set(uid, { signature: signatureOf(lists), asOf: lists.asOf });
    if (lists.sandboxes.length + lists.containers.length === 0) this.#reported.delete(uid);
  }

  async #list(
    filter: { labelSelector?: Record<string, string> },
    signal: AbortSignal,
  ): Promise<Lists> {
    const asOf = this.#deps.clock.monotonic();
    const [sandboxes, containers] = await Promise.all([
      this.#deps.runtime.listSandboxes(filter, signal),
      this.#deps.runtime.listContainers(filter, signal),
    ]);
    const isOwned = (listed: PodSandbox | Container) => podOfLabels(listed) !== undefined;
    return { asOf, sandboxes: sandboxes.filter(isOwned), containers: containers.filter(isOwned) };
  }

  async #observation(uid: PodUid, lists: Lists, signal: AbortSignal): Promise<Observation> {
    for (const { id } of [...lists.sandboxes, ...lists.containers])
      if (!this.#podOf.has(id)) this.learn(id, uid);
    const [sandboxes, containers] = await Promise.all([
      inParallel(lists.sandboxes, STATUS_CALLS, (listed) => this.#sandbox(listed, signal)),
      inParallel(lists.containers, STATUS_CALLS, (listed) => this.#container(listed, signal)),
    ]);
    const newest = newestSandboxFirst(present(sandboxes));
    return {
      asOf: lists.asOf,
      sandboxes: newest,
      containers: newestContainerFirst(present(containers), newest),
    };
  }

  async #sandbox(listed: PodSandbox, signal: AbortSignal): Promise<ObservedSandbox | undefined> {
    const known = this.#sandboxes.get(listed.id);
    if (known?.state === listed.state) return known.observed;
    const status = await this.#sandboxStatus(listed, signal);
    if (!status) return undefined;
    const read = readSandbox(listed, status, this.#stopped.has(listed.id));
    // A sandbox that stops being ready has no address any more; the pod keeps the one it had.
    const observed = read.ips.length === 0 && known ? { ...read, ips: known.observed.ips } : read;
    this.#sandboxes.set(listed.id, { state: listed.state, observed });
    return observed;
  }

  #sandboxStatus(
    { id, state }: PodSandbox,
    signal: AbortSignal,
  ): Promise<PodSandboxStatus | undefined> {
    const before = this.#statusesAhead.get(id);
    this.#statusesAhead.delete(id);
    if (before?.state === state) return Promise.resolve(before);
    return this.#status(`sandbox ${shortId(id)}`, signal, (own) =>
      this.#deps.runtime.sandboxStatus(id, own),
    );
  }

  async #container(listed: Container, signal: AbortSignal): Promise<ObservedContainer | undefined> {
    const known = this.#containers.get(listed.id);
    if (known?.state === listed.state) return known.observed;
    const what = `container ${listed.metadata?.name ?? ""} (${shortId(listed.id)})`;
    const status = await this.#status(what, signal, (own) =>
      this.#deps.runtime.containerStatus(listed.id, own),
    );
    if (!status) return undefined;
    const read = readContainer(
      listed.podSandboxId,
      status,
      await terminationMessage(status, this.#deps, signal),
    );
    const imageNames = known ? known.observed.imageNames : await this.#imageNames(read, signal);
    const observed = imageNames ? { ...read, imageNames } : read;
    // The state may have moved on between list and status: what was read is what counts.
    this.#containers.set(listed.id, { state: status.state, observed });
    return observed;
  }

  /** The status of one object in time; what was removed between list and status is not there. */
  async #status<T>(
    what: string,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const limit = { clock: this.#deps.clock, ms: STATUS_WITHIN_MS, what: "the runtime" };
    try {
      return await within(limit, signal, ask);
    } catch (error) {
      signal.throwIfAborted();
      if (isOutside(error, "notFound")) return undefined;
      throw new OutsideError("unavailable", `${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * All names of the image, where the one that the runtime shows is not the spec's: containerd before 2.0 shows
   * any, and other agents hash otherwise.
   */
  async #imageNames(
    { name, image, hash, imageRef }: ObservedContainer,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    if (hash === "" || hash === containerHash({ name, image })) return undefined;
    const limit = { clock: this.#deps.clock, ms: STATUS_WITHIN_MS, what: "the runtime" };
    const ask = (own: AbortSignal) => this.#deps.images.imageStatus(imageRef, own);
    const found = await within(limit, signal, ask).catch(() => undefined);
    return found && [...found.repoTags, ...found.repoDigests];
  }

  /** Drops what is known of ids in scope that are no longer listed. */
  #forget(inScope: (uid: PodUid) => boolean, lists: Lists): void {
    const listed = new Set([...lists.sandboxes, ...lists.containers].map(({ id }) => id));
    // Runs over the ids of all pods each time one is observed: `forEach` allocates no pair for each of them.
    this.#podOf.forEach(({ uid, since }, id) => {
      // Containers that were created after the listing began cannot be in it.
      if (listed.has(id) || since >= lists.asOf || !inScope(uid)) return;
      this.#podOf.delete(id);
      this.#containers.delete(id);
      this.#sandboxes.delete(id);
      this.#statusesAhead.delete(id);
      this.#stopped.delete(id);
    });
  }
}

function groupByPod(lists: Lists): Map<PodUid, Lists> {
  const groups = new Map<
    PodUid,
    { asOf: MonotonicMs; sandboxes: PodSandbox[]; containers: Container[] }
  >();
  const groupOf = (listed: PodSandbox | Container) => {
    const uid = podOfLabels(listed);
    if (uid === undefined) return undefined;
    let group = groups.get(uid);
    if (!group) {
      group = { asOf: lists.asOf, sandboxes: [], containers: [] };
      groups.set(uid, group);
    }
    return group;
  };
  for (const sandbox of lists.sandboxes) groupOf(sandbox)?.sandboxes.push(sandbox);
  for (const container of lists.containers) groupOf(container)?.containers.push(container);
  return groups;
}

function signatureOf({ sandboxes, containers }: Pick<Lists, "sandboxes" | "containers">): string {
  return [...sandboxes, ...containers]
    .map(({ id, state }) => `${id}:${state}`)
    .sort()
    .join(" ");
}

/** Those that exist; throws the first error of any of them. */
function present<T>(outcomes: readonly Outcome<T | undefined>[]): T[] {
  return allValues(outcomes).filter((value) => value !== undefined);
}

/** As people know them from crictl. */
function shortId(id: string): string {
  return id.slice(0, 13);
}
