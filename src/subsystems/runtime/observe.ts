import { containerHash } from "../../api/container-hash.ts";
import type {
  FoundPod,
  Observation,
  ObservedContainer,
  ObservedSandbox,
  PodUid,
} from "../../api/observation.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Container, ImageService, PodSandbox, RuntimeService } from "../../outside/cri/cri.ts";
import { POD_UID } from "./labels.ts";
import { podFromLabels, readContainer, readSandbox } from "./read-observation.ts";
import { type ReadTail, terminationMessage } from "./termination-message.ts";

/** Status calls under way at once while many pods are looked at. */
const STATUS_CALLS = 8;

/** What looking needs. */
export interface ObserveDeps {
  readonly runtime: RuntimeService;
  readonly images: Pick<ImageService, "imageStatus">;
  readonly clock: Clock;
  readonly readTail: ReadTail;
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
    { readonly state: number; readonly sight: ObservedContainer }
  >();
  readonly #sandboxes = new Map<
    string,
    { readonly state: number; readonly sight: ObservedSandbox }
  >();
  readonly #stopped = new Set<string>();
  readonly #podOf = new Map<string, { readonly uid: PodUid; readonly since: MonotonicMs }>();
  /** What was last told of each pod, as ids and states, and as of when. */
  readonly #told = new Map<PodUid, { readonly signature: string; readonly asOf: MonotonicMs }>();

  constructor(deps: ObserveDeps) {
    this.#deps = deps;
  }

  /** The pod a container or sandbox belongs to, if it was ever seen. */
  podOf(containerId: string): PodUid | undefined {
    return this.#podOf.get(containerId)?.uid;
  }

  /** Whether the container or sandbox was running when it was last looked at, or was never looked at. */
  mayRun(id: string): boolean {
    const container = this.#containers.get(id)?.sight;
    if (container) return container.state === "running";
    const sandbox = this.#sandboxes.get(id)?.sight;
    return sandbox ? sandbox.ready : this.#podOf.has(id);
  }

  /** How many containers are in each state, and how many sandboxes are ready. */
  counts(): {
    readonly containers: Readonly<Record<string, number>>;
    readonly readySandboxes: number;
  } {
    const containers: Record<string, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
    for (const { sight } of this.#containers.values())
      containers[sight.state] = (containers[sight.state] ?? 0) + 1;
    let readySandboxes = 0;
    for (const { sight } of this.#sandboxes.values()) if (sight.ready) readySandboxes += 1;
    return { containers, readySandboxes };
  }

  /** Remembers that a sandbox was stopped: of one that was dead before, the runtime shows no difference. */
  stopped(sandboxId: string): void {
    this.#stopped.add(sandboxId);
    const known = this.#sandboxes.get(sandboxId);
    if (known && !known.sight.ready)
      this.#sandboxes.set(sandboxId, { ...known, sight: { ...known.sight, stopped: true } });
  }

  /** Remembers whose a sandbox or container is before it was ever listed. */
  learn(containerId: string, uid: PodUid): void {
    this.#podOf.set(containerId, { uid, since: this.#deps.clock.monotonic() });
  }

  /** Everything the runtime has of one pod. */
  async observePod(uid: PodUid, signal: AbortSignal): Promise<FoundPod> {
    for (;;) {
      const lists = await this.#list({ labelSelector: { [POD_UID]: uid } }, signal);
      const observed = await this.#observation(uid, lists, signal);
      // A look that began later was faster: what it told would be taken back by this one.
      if (!this.#mayTell(uid, lists.asOf)) continue;
      this.#tell(uid, lists);
      this.#forget((owner) => owner === uid, lists);
      return { uid, observed, describe: () => podFromLabels(lists.sandboxes, lists.containers) };
    }
  }

  #mayTell(uid: PodUid, asOf: MonotonicMs): boolean {
    const told = this.#told.get(uid);
    return told === undefined || told.asOf <= asOf;
  }

  #tell(uid: PodUid, lists: Lists): void {
    this.#told.set(uid, { signature: signatureOf(lists), asOf: lists.asOf });
    if (lists.sandboxes.length + lists.containers.length === 0) this.#told.delete(uid);
  }

  /** Every pod that changed since it was last told of; one that vanished comes with nothing. */
  async observeAll(signal: AbortSignal): Promise<readonly FoundPod[]> {
    const lists = await this.#list({}, signal);
    const byPod = groupByPod(lists);
    const changed = [...byPod].filter(
      ([uid, ofPod]) => this.#told.get(uid)?.signature !== signatureOf(ofPod),
    );
    const observations = await inParallel(changed, STATUS_CALLS, async ([uid, ofPod]) => ({
      uid,
      ofPod,
      observed: await this.#observation(uid, ofPod, signal),
    }));
    // Only now: had a status failed above, nobody would have been told of anything.
    const found = observations.filter(({ uid }) => this.#mayTell(uid, lists.asOf));
    for (const { uid, ofPod } of found) this.#tell(uid, ofPod);
    const vanished = [...this.#told].flatMap(([uid, { asOf }]) =>
      byPod.has(uid) || asOf > lists.asOf ? [] : [uid],
    );
    for (const uid of vanished) this.#told.delete(uid);
    this.#forget(() => true, lists);
    const observed = { asOf: lists.asOf, sandboxes: [], containers: [] };
    return [
      ...found.map(({ uid, observed, ofPod }) => ({
        uid,
        observed,
        describe: () => podFromLabels(ofPod.sandboxes, ofPod.containers),
      })),
      ...vanished.map((uid) => ({ uid, observed, describe: () => podFromLabels([], []) })),
    ];
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
    return { asOf, sandboxes, containers };
  }

  async #observation(uid: PodUid, lists: Lists, signal: AbortSignal): Promise<Observation> {
    const [sandboxes, containers] = await Promise.all([
      inParallel(lists.sandboxes, STATUS_CALLS, (listed) => this.#sandbox(uid, listed, signal)),
      inParallel(lists.containers, STATUS_CALLS, (listed) => this.#container(uid, listed, signal)),
    ]);
    return {
      asOf: lists.asOf,
      sandboxes: present(sandboxes).sort(
        (a, b) => b.createdAtMs - a.createdAtMs || b.attempt - a.attempt,
      ),
      containers: present(containers).sort(
        (a, b) => b.createdAtMs - a.createdAtMs || b.restartCount - a.restartCount,
      ),
    };
  }

  async #sandbox(
    uid: PodUid,
    listed: PodSandbox,
    signal: AbortSignal,
  ): Promise<ObservedSandbox | undefined> {
    const known = this.#sandboxes.get(listed.id);
    if (known?.state === listed.state) return known.sight;
    const status = await unlessGone(this.#deps.runtime.sandboxStatus(listed.id, signal));
    if (!status) return undefined;
    const read = readSandbox(listed, status, this.#stopped.has(listed.id));
    // A sandbox that stops being ready has no address any more; the pod keeps the one it had.
    const sight = read.ips.length === 0 && known ? { ...read, ips: known.sight.ips } : read;
    this.#sandboxes.set(listed.id, { state: listed.state, sight });
    this.learn(listed.id, uid);
    return sight;
  }

  async #container(
    uid: PodUid,
    listed: Container,
    signal: AbortSignal,
  ): Promise<ObservedContainer | undefined> {
    const known = this.#containers.get(listed.id);
    if (known?.state === listed.state) return known.sight;
    const status = await unlessGone(this.#deps.runtime.containerStatus(listed.id, signal));
    if (!status) return undefined;
    const read = readContainer(
      listed.podSandboxId,
      status,
      await terminationMessage(status, this.#deps, signal),
    );
    const imageNames = known ? known.sight.imageNames : await this.#imageNames(read, signal);
    const sight = imageNames ? { ...read, imageNames } : read;
    // The state may have moved on between list and status: what was read is what counts.
    this.#containers.set(listed.id, { state: status.state, sight });
    this.learn(listed.id, uid);
    return sight;
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
    const found = await this.#deps.images.imageStatus(imageRef, signal).catch(() => undefined);
    return found && [...found.repoTags, ...found.repoDigests];
  }

  /** Drops what is known of ids in scope that are no longer listed. */
  #forget(inScope: (uid: PodUid) => boolean, lists: Lists): void {
    const listed = new Set([...lists.sandboxes, ...lists.containers].map(({ id }) => id));
    for (const [id, { uid, since }] of this.#podOf) {
      // What was made after the listing began cannot be in it.
      if (listed.has(id) || since >= lists.asOf || !inScope(uid)) continue;
      this.#podOf.delete(id);
      this.#containers.delete(id);
      this.#sandboxes.delete(id);
      this.#stopped.delete(id);
    }
  }
}

function groupByPod(lists: Lists): Map<PodUid, Lists> {
  const groups = new Map<
    PodUid,
    { asOf: MonotonicMs; sandboxes: PodSandbox[]; containers: Container[] }
  >();
  const groupOf = (labels: Readonly<Record<string, string>>) => {
    const uid = labels[POD_UID] as PodUid | undefined;
    if (uid === undefined) return undefined;
    let group = groups.get(uid);
    if (!group) {
      group = { asOf: lists.asOf, sandboxes: [], containers: [] };
      groups.set(uid, group);
    }
    return group;
  };
  for (const sandbox of lists.sandboxes) groupOf(sandbox.labels)?.sandboxes.push(sandbox);
  for (const container of lists.containers) groupOf(container.labels)?.containers.push(container);
  return groups;
}

function signatureOf({ sandboxes, containers }: Pick<Lists, "sandboxes" | "containers">): string {
  return [...sandboxes, ...containers]
    .map(({ id, state }) => `${id}:${state}`)
    .sort()
    .join(" ");
}

/** What was removed between list and status is not there. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isOutside(error, "notFound")) return undefined;
    throw error;
  }
}

function present<T>(items: readonly (T | undefined)[]): T[] {
  return items.filter((item) => item !== undefined);
}

async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  return results;
}
