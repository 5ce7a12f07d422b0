/** The two facts of this module and what follows from them: what there is, and who has it. */
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import {
  countDevices,
  type DeviceCount,
  EMPTY_INVENTORY,
  expire,
  healthChanges,
  type Inventory,
  nextExpiry,
} from "./inventory.ts";
import { EMPTY_LEDGER, type Ledger } from "./ledger/ledger.ts";

/** The devices in the node's status. */
export interface DeviceCapacity {
  /** By resource name. */
  readonly counts: ReadonlyMap<string, DeviceCount>;
  /** Resources that were there and are not any more; the node's status shows 0 of them. */
  readonly removed: readonly string[];
  /**
   * The agent knows of no previous run: extended resources that the node's status still shows, and that
   * no plugin has offered since, are of a node that is no more (the Go kubelet zeroes them).
   */
  readonly fresh: boolean;
}

/** Callbacks for changes. */
interface DeviceStateDeps {
  readonly clock: Clock;
  /** Something changed that is to be kept. */
  readonly onChanged: () => void;
  /** Devices of a resource whose shown health changed. */
  readonly onHealth: (resource: string, ids: readonly string[]) => void;
}

const NOTHING: DeviceCapacity = { counts: new Map(), removed: [], fresh: false };

/** The one writer of inventory and ledger. */
export class DeviceState {
  readonly #deps: DeviceStateDeps;
  readonly #capacity = new Cell<DeviceCapacity>(NOTHING);
  readonly #presence = new Cell<Inventory>(EMPTY_INVENTORY);
  readonly #removed = new Set<string>();
  #ledger: Ledger = EMPTY_LEDGER;
  #cancelExpiry: (() => void) | undefined;
  #fresh = false;

  constructor(deps: DeviceStateDeps) {
    this.#deps = deps;
  }

  get capacity(): Reading<DeviceCapacity> {
    return this.#capacity;
  }

  /** The inventory; changes when a plugin connects, disconnects or lists other devices. */
  get inventory(): Reading<Inventory> {
    return this.#presence;
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /** No previous run is known of. */
  beginFresh(): void {
    this.#fresh = true;
    this.#publish();
  }

  setLedger(next: Ledger): void {
    if (next === this.#ledger) return;
    this.#ledger = next;
    this.#deps.onChanged();
  }

  setInventory(next: Inventory): void {
    const before = this.#presence.get();
    if (next === before) return;
    for (const resource of before.keys()) if (!next.has(resource)) this.#removed.add(resource);
    for (const resource of next.keys()) this.#removed.delete(resource);
    const changes = [...new Set([...before.keys(), ...next.keys()])].flatMap((resource) => {
      const ids = healthChanges(before.get(resource), next.get(resource));
      return ids.length === 0 ? [] : [{ resource, ids }];
    });
    this.#watchExpiry(next);
    this.#presence.set(next);
    this.#publish();
    this.#deps.onChanged();
    for (const { resource, ids } of changes) this.#deps.onHealth(resource, ids);
  }

  close(): void {
    this.#cancelExpiry?.();
  }

  #watchExpiry(inventory: Inventory): void {
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
    const at = nextExpiry(inventory);
    if (at === undefined) return;
    const { clock } = this.#deps;
    this.#cancelExpiry = clock.alarm(Math.max(0, at - clock.monotonic()), () =>
      // At its time a resource is over, even if the clock wakes us a little early.
      this.setInventory(
        expire(this.#presence.get(), Math.max(at, clock.monotonic()) as MonotonicMs),
      ),
    );
  }

  #publish(): void {
    const now: DeviceCapacity = {
      counts: countDevices(this.#presence.get()),
      removed: [...this.#removed],
      fresh: this.#fresh,
    };
    if (!sameCapacity(this.#capacity.get(), now)) this.#capacity.set(now);
  }
}

function sameCapacity(a: DeviceCapacity, b: DeviceCapacity): boolean {
  if (a.fresh !== b.fresh || a.counts.size !== b.counts.size) return false;
  if (a.removed.join(" ") !== b.removed.join(" ")) return false;
  for (const [resource, count] of a.counts) {
    const other = b.counts.get(resource);
    if (other?.capacity !== count.capacity || other.allocatable !== count.allocatable) return false;
  }
  return true;
}
