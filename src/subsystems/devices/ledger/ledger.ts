// pure
/**
 * The ledger of devices. A device has at most one owner, a pod; within the pod several containers may hold
 * it, one after the other. Functions return the ledger that follows and throw `InvariantError` rather than
 * let two pods have one device.
 */
import type { PodUid } from "../../../api/observation.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { InvariantError } from "../../../kit/errors.ts";

/** An allocated device, with the NUMA nodes it had when it was allocated. */
export interface HeldDevice {
  readonly id: string;
  readonly nodes: readonly number[];
}

/** Allocation of one container of one resource. */
export interface Holding {
  readonly podUid: PodUid;
  readonly container: string;
  readonly resource: string;
  /** Sorted by id, never empty. */
  readonly devices: readonly HeldDevice[];
  /** The plugin's answer, encoded; `undefined` while it is asked, or when the answer was lost. */
  readonly answer: Uint8Array | undefined;
  /** `asked` is reserved, and released if the plugin refuses. */
  readonly state: "asked" | "granted";
  /** When it was given; `undefined` when that is not known any more. */
  readonly since: WallMs | undefined;
}

/** All holdings, and the same by device. */
export interface Ledger {
  readonly pods: ReadonlyMap<PodUid, readonly Holding[]>;
  /** The owner of each device that has one, by resource and id. */
  readonly owners: ReadonlyMap<string, ReadonlyMap<string, PodUid>>;
}

/** No allocations. */
export const EMPTY_LEDGER: Ledger = { pods: new Map(), owners: new Map() };

const NO_HOLDINGS: readonly Holding[] = [];

/** Everything one pod has. */
export function holdingsOf(ledger: Ledger, podUid: PodUid): readonly Holding[] {
  return ledger.pods.get(podUid) ?? NO_HOLDINGS;
}

/** Allocation of a container of the pod of one resource. */
export function findHolding(
  ledger: Ledger,
  podUid: PodUid,
  container: string,
  resource: string,
): Holding | undefined {
  return holdingsOf(ledger, podUid).find(
    (holding) => holding.container === container && holding.resource === resource,
  );
}

/** The pod that has the device. */
export function ownerOf(ledger: Ledger, resource: string, id: string): PodUid | undefined {
  return ledger.owners.get(resource)?.get(id);
}

/** Every holding of every pod, in the order the pods came. */
export function allHoldings(ledger: Ledger): readonly Holding[] {
  return [...ledger.pods.values()].flat();
}

/** Replaces all that a pod has; throws before anything is written if that is of another pod, or has another owner. */
export function withPod(ledger: Ledger, podUid: PodUid, holdings: readonly Holding[]): Ledger {
  const before = holdingsOf(ledger, podUid);
  if (before.length === 0 && holdings.length === 0) return ledger;
  for (const { podUid: named, container, resource } of holdings)
    if (named !== podUid)
      throw new InvariantError(
        `${resource} of container ${container} of pod ${named} was to be filed under pod ${podUid}`,
      );
  const pods = new Map(ledger.pods);
  if (holdings.length === 0) pods.delete(podUid);
  else pods.set(podUid, holdings);
  const owners = new Map(ledger.owners);
  const touched = new Set([...before, ...holdings].map(({ resource }) => resource));
  for (const resource of touched) {
    const had = idsOf(before, resource);
    const has = idsOf(holdings, resource);
    // Most steps change only how far a holding is; copying what all pods have would cost more than the step.
    if (had.length === has.length && had.every((id, i) => has[i] === id)) continue;
    const others = new Map(owners.get(resource));
    for (const id of had) others.delete(id);
    for (const id of has) take(others, { resource, id }, podUid);
    if (others.size === 0) owners.delete(resource);
    else owners.set(resource, others);
  }
  return { pods, owners };
}

function idsOf(holdings: readonly Holding[], resource: string): readonly string[] {
  return holdings
    .filter((holding) => holding.resource === resource)
    .flatMap(({ devices }) => devices.map(({ id }) => id));
}

function take(
  owners: Map<string, PodUid>,
  { resource, id }: { readonly resource: string; readonly id: string },
  podUid: PodUid,
): void {
  const owner = owners.get(id);
  if (owner !== undefined && owner !== podUid)
    throw new InvariantError(
      `device ${id} of ${resource} belongs to pod ${owner} and was to be allocated to pod ${podUid}`,
    );
  owners.set(id, podUid);
}

/** The ledger without the pod. */
export function release(ledger: Ledger, podUid: PodUid): Ledger {
  return withPod(ledger, podUid, NO_HOLDINGS);
}

/** The ledger without what the named containers of the pod hold; what others of it hold too stays its own. */
export function releaseContainers(
  ledger: Ledger,
  podUid: PodUid,
  containers: ReadonlySet<string>,
): Ledger {
  const before = holdingsOf(ledger, podUid);
  const kept = before.filter(({ container }) => !containers.has(container));
  return kept.length === before.length ? ledger : withPod(ledger, podUid, kept);
}

/** The ledger with one more holding, or another one in the place of that of the same container and resource. */
export function withHolding(ledger: Ledger, holding: Holding): Ledger {
  const { podUid, container, resource } = holding;
  const others = holdingsOf(ledger, podUid).filter(
    (other) => other.container !== container || other.resource !== resource,
  );
  return withPod(ledger, podUid, [...others, holding]);
}

/** Broken invariants of a ledger; empty unless there is a bug. For checks in tests and at run time. */
export function ledgerFaults(ledger: Ledger): readonly string[] {
  const seen = new Map<string, PodUid>();
  const faults = [...ledger.pods].flatMap(([podUid, holdings]) =>
    holdings.flatMap((holding) => holdingFaults(ledger, podUid, holding, seen)),
  );
  for (const [resource, ids] of ledger.owners)
    for (const id of ids.keys())
      if (!seen.has(`${resource} ${id}`)) faults.push(`${resource} ${id} is owned and not held`);
  return faults;
}

function holdingFaults(
  { owners }: Ledger,
  podUid: PodUid,
  { podUid: named, resource, devices }: Holding,
  seen: Map<string, PodUid>,
): string[] {
  const faults: string[] = [];
  if (named !== podUid) faults.push(`a holding of ${named} is filed under ${podUid}`);
  if (devices.length === 0) faults.push(`pod ${podUid} holds no device of ${resource}`);
  for (const { id } of devices) {
    const key = `${resource} ${id}`;
    const other = seen.get(key) ?? podUid;
    if (other !== podUid) faults.push(`${key} is held by ${other} and ${podUid}`);
    seen.set(key, podUid);
    if (owners.get(resource)?.get(id) !== podUid) faults.push(`${key} has the wrong owner`);
  }
  return faults;
}
