/**
 * Prepares claims for pods and takes them back, once each: the one writer of what is prepared for whom. A pod's reference is on
 * disk before any driver is called for it; a claim is unprepared when its last pod has ended; no two calls for one claim overlap:
 * who does not wait any more leaves a call to its end, since the driver may go on with it.
 */
import type { PodUid } from "../../api/pod-identity.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { waitForChange } from "../../kit/loops/wakeup.ts";
import { untilAborted } from "../../kit/within.ts";
import { type AllocatedClaim, ClaimBusy, ClaimRefused } from "./allocated-claim.ts";
import {
  byKey,
  type ClaimInfo,
  type ClaimTable,
  claimKey,
  claimsHeldFor,
  type PreparedDevice,
} from "./claim-info.ts";
import { type DriverAnswer, readPrepared, readUnprepared } from "./driver-answer.ts";
import type { CalledClaim, DriverConnection } from "./drivers/driver-connection.ts";

interface ClaimKeeperDeps {
  readonly findDriver: (driver: string) => DriverConnection | undefined;
  /** Resolves when the present claims are on disk. */
  readonly saved: () => Promise<void>;
  /** A claim of that name is held for pods that may be gone. */
  readonly onStale: () => void;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Ends calls to drivers: the agent is leaving. */
  readonly leaving: AbortSignal;
}

type Use = "prepare" | "unprepare";

/** Drivers that are called at once for one pod. */
const CALLED_AT_ONCE = 8;

/** The keeper; see above. */
export class ClaimKeeper {
  readonly #deps: ClaimKeeperDeps;
  readonly #claims = new Map<string, ClaimInfo>();
  readonly #inUse = new Map<string, Use>();
  readonly #freed = new Cell(0);

  constructor(deps: ClaimKeeperDeps) {
    this.#deps = deps;
  }

  get claims(): ClaimTable {
    return this.#claims;
  }

  /** Claims for which drivers are being called, by key. */
  get inUse(): ReadonlyMap<string, Use> {
    return this.#inUse;
  }

  /** Changes whenever calls for a claim have ended. */
  get freed(): Reading<number> {
    return this.#freed;
  }

  /** Claims of a previous run: held, and prepared again when a sandbox is made. */
  restore(claims: readonly ClaimInfo[]): void {
    for (const claim of claims) this.#claims.set(claimKey(claim), claim);
  }

  /** Prepares all of them for the pod; those that are prepared get a reference only. Throws `ClaimRefused`. */
  async prepare(
    pod: PodUid,
    wanted: readonly AllocatedClaim[],
    signal: AbortSignal,
  ): Promise<void> {
    const missing = wanted.flatMap(({ drivers }) => drivers).find((name) => !this.#find(name));
    if (missing !== undefined) throw notRegistered(missing);
    const taken = await this.#take(wanted.map(claimKey), "prepare", signal);
    await untilAborted(this.#begin(taken, pod, wanted), signal);
  }

  async #begin(taken: Disposable, pod: PodUid, wanted: readonly AllocatedClaim[]): Promise<void> {
    using _ = taken;
    for (const claim of wanted) this.#refuseOther(claim);
    for (const claim of wanted) this.#refer(pod, claim);
    await this.#save("cache");
    const open = wanted.filter((claim) => this.#claims.get(claimKey(claim))?.isPrepared !== true);
    const faults = await this.#callDrivers(open, "prepare");
    await this.#save("state");
    if (faults[0] !== undefined) throw new ClaimRefused(faults[0]);
  }

  /** Takes back what is held for the pod; claims that others use lose the reference only. Throws `ClaimRefused`. */
  async unprepare(pod: PodUid, signal: AbortSignal): Promise<void> {
    const keys = claimsHeldFor(this.#claims, pod).map(claimKey);
    if (keys.length === 0) return;
    const taken = await this.#take(keys, "unprepare", signal);
    await untilAborted(this.#leave(taken, pod), signal);
  }

  async #leave(taken: Disposable, pod: PodUid): Promise<void> {
    using _ = taken;
    const held = claimsHeldFor(this.#claims, pod);
    for (const claim of held.filter(({ pods }) => pods.size > 1)) {
      const pods = new Set([...claim.pods].filter((uid) => uid !== pod));
      this.#set({ ...claim, pods });
    }
    await this.#end(held.filter(({ pods }) => pods.size === 1));
  }

  /** Takes back claims that are held for no pod at all. Throws `ClaimRefused`. */
  async unprepareUnused(signal: AbortSignal): Promise<void> {
    const keys = this.#unused().map(claimKey);
    if (keys.length === 0) return;
    using _ = await this.#take(keys, "unprepare", signal);
    // Pods may have come for some of them while it waited.
    await this.#end(this.#unused().filter((claim) => keys.includes(claimKey(claim))));
  }

  #unused(): readonly ClaimInfo[] {
    return [...this.#claims.values()].filter(({ pods }) => pods.size === 0).sort(byKey);
  }

  async #end(claims: readonly ClaimInfo[]): Promise<void> {
    // From the first call on they may be prepared in part only.
    for (const claim of claims) this.#set({ ...claim, isPrepared: false });
    const faults = await this.#callDrivers(
      claims.map((claim) => ({ ...claim, drivers: [...claim.drivers.keys()] })),
      "unprepare",
    );
    await this.#save("state");
    if (faults[0] !== undefined) throw new ClaimRefused(faults[0]);
  }

  /** Holds the claims while drivers are called for them; all at once, so that no two wait for each other. */
  async #take(keys: readonly string[], use: Use, signal: AbortSignal): Promise<Disposable> {
    for (;;) {
      signal.throwIfAborted();
      const taken = keys.find((key) => this.#inUse.has(key));
      if (taken === undefined) break;
      if (use === "prepare" && this.#inUse.get(taken) === "unprepare")
        throw new ClaimBusy(`ResourceClaim ${nameIn(taken)} is being unprepared`);
      await waitForChange([this.#freed], undefined, signal);
    }
    for (const key of keys) this.#inUse.set(key, use);
    return {
      [Symbol.dispose]: () => {
        for (const key of keys) this.#inUse.delete(key);
        this.#freed.set(this.#freed.get() + 1);
      },
    };
  }

  #refuseOther(claim: AllocatedClaim): void {
    const known = this.#claims.get(claimKey(claim));
    if (known === undefined || known.uid === claim.uid) return;
    this.#deps.onStale();
    throw new ClaimRefused(
      `old ResourceClaim with same name ${claim.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
    );
  }

  /** Notes that the claim is used by the pod; devices that a driver named before are kept until it names them again. */
  #refer(pod: PodUid, { namespace, name, uid, drivers: wanted }: AllocatedClaim): void {
    const known = this.#claims.get(claimKey({ namespace, name }));
    const { preparedMs } = known ?? {};
    const drivers = new Map(known?.drivers);
    for (const driver of wanted) if (!drivers.has(driver)) drivers.set(driver, []);
    const pods = new Set(known?.pods).add(pod);
    const isPrepared =
      known?.isPrepared === true && wanted.every((each) => known.drivers.has(each));
    const since = isPrepared && preparedMs !== undefined ? { preparedMs } : {};
    this.#set({ namespace, name, uid, pods, drivers, isPrepared, ...since });
  }

  /** One call for each driver with all its claims; what came out of it is noted at once. Resolves with what failed. */
  async #callDrivers(claims: readonly AllocatedClaim[], use: Use): Promise<readonly string[]> {
    const left = new Map(claims.map((claim) => [claimKey(claim), new Set(claim.drivers)]));
    const calls = [...new Set(claims.flatMap(({ drivers }) => drivers))];
    const finish = (claim: AllocatedClaim, driver: string | undefined) => {
      const open = left.get(claimKey(claim));
      if (driver !== undefined) open?.delete(driver);
      if (open?.size === 0) this.#finish(claim, use);
    };
    for (const claim of claims) finish(claim, undefined);
    const outcomes = await inParallel(calls, CALLED_AT_ONCE, async (driver) => {
      const asked = claims.filter(({ drivers }) => drivers.includes(driver));
      const { good, fault } = await this.#call(driver, asked, use);
      for (const claim of asked) {
        const devices = good.get(claim.uid);
        if (devices === undefined) continue;
        if (use === "prepare") this.#setDevices(claim, driver, devices);
        finish(claim, driver);
      }
      return fault;
    });
    return allValues(outcomes).filter((fault) => fault !== undefined);
  }

  async #call(
    driver: string,
    asked: readonly AllocatedClaim[],
    use: Use,
  ): Promise<DriverAnswer<readonly PreparedDevice[]>> {
    const { leaving } = this.#deps;
    const connection = this.#find(driver);
    if (!connection) return { good: new Map(), fault: messageOf(notRegistered(driver)) };
    const claims = asked.map(({ namespace, uid, name }): CalledClaim => ({ namespace, uid, name }));
    try {
      return use === "prepare"
        ? readPrepared(asked, await connection.prepare(claims, leaving))
        : readUnprepared(asked, await connection.unprepare(claims, leaving));
    } catch (error) {
      leaving.throwIfAborted();
      const call = use === "prepare" ? "NodePrepareResources" : "NodeUnprepareResources";
      return { good: new Map(), fault: `${call}: ${messageOf(error)}` };
    }
  }

  #finish(claim: AllocatedClaim, use: Use): void {
    const key = claimKey(claim);
    const known = this.#claims.get(key);
    if (!known) return;
    if (use === "prepare") this.#set({ ...known, isPrepared: true, preparedMs: this.#deps.now() });
    else this.#claims.delete(key);
  }

  #setDevices(claim: AllocatedClaim, driver: string, devices: readonly PreparedDevice[]): void {
    const known = this.#claims.get(claimKey(claim));
    if (known) this.#set({ ...known, drivers: new Map(known.drivers).set(driver, devices) });
  }

  #set(claim: ClaimInfo): void {
    this.#claims.set(claimKey(claim), claim);
  }

  #find(driver: string): DriverConnection | undefined {
    return this.#deps.findDriver(driver);
  }

  async #save(what: "cache" | "state"): Promise<void> {
    try {
      await this.#deps.saved();
    } catch (error) {
      throw new ClaimRefused(`checkpoint ResourceClaim ${what}: ${messageOf(error)}`);
    }
  }
}

const notRegistered = (driver: string): ClaimRefused =>
  new ClaimRefused(`DRA driver ${driver} is not registered`);

const nameIn = (key: string): string => key.slice(key.indexOf("/") + 1);
