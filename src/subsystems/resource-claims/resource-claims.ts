/**
 * Resource claims (dynamic resource allocation). Owns: which claims are prepared for which pods, and the connections to their
 * drivers. In: drivers that register, pods whose sandbox is about to be made, pods that have ended. Out: CDI devices of
 * containers, their health, what monitors read. Invariants: no container of a pod is made before all claims of the pod are
 * prepared; none is unprepared before the last of its pods has ended; who may use what is on disk before a driver is called.
 *
 * Example:
 *     await claims.start();
 *     await claims.prepare(pod, signal);
 *     const cdiDevices = claims.cdiDevices(pod, container);
 *     await claims.unprepare(pod, signal);
 */
import { makeDecision } from "../../api/decisions.ts";
import type { Container, ResourceStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { claimsOfPod, usesClaims } from "../../api/pod-claims.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { CLAIMS_PROGRESS, type PodNews } from "../../api/pod-news.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { VersionResponse } from "../../outside/cri/cri.ts";
import type { Grpc } from "../../outside/grpc/grpc.ts";
import { type KubeClient, RESOURCE_CLAIMS } from "../../outside/kube/kube.ts";
import { type AllocatedClaim, ClaimBusy, ClaimRefused, readAllocated } from "./allocated-claim.ts";
import { cdiProblem } from "./cdi-support.ts";
import { type ClaimTable, claimKey, devicesFor } from "./claim-info.ts";
import { ClaimKeeper } from "./claim-keeper.ts";
import { type ClaimMeasures, claimMeasures } from "./claim-measures.ts";
import { ClaimStore } from "./claim-store.ts";
import { cdiDevicesOf } from "./container-claims.ts";
import { Drivers } from "./drivers/drivers.ts";
import { SliceCleanup } from "./drivers/slice-cleanup.ts";
import { deviceKey } from "./health/device-health.ts";
import { HealthWatch } from "./health/health-watch.ts";
import { claimStatuses } from "./health/shown-health.ts";
import { heldClaims } from "./held-claims.ts";
import { type ClaimReport, type ClaimWait, reportClaims } from "./report.ts";
import { StaleClaims } from "./stale-claims.ts";

export { ClaimsNotReady } from "./container-claims.ts";
export type { ClaimReport } from "./report.ts";

/** Settings of the module. */
interface ResourceClaimsOptions {
  /** Where the claims are kept. */
  readonly file: string;
  readonly nodeName: string;
}

/** What the runtime says of itself. */
interface DescribedRuntime {
  version(signal: AbortSignal): Promise<VersionResponse>;
  /** Beyond CRI; empty where it says nothing. */
  describe(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
}

interface ResourceClaimsDeps {
  /** Without it no driver can come. */
  readonly grpc: Grpc | undefined;
  /** Absent where there is no API server: there are no claims. */
  readonly client: KubeClient | undefined;
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly events: PodEvents;
  readonly decisions: Pick<Decisions, "record">;
  readonly news: Publisher<PodNews>;
  readonly pods: PodFacts;
  readonly runtime: DescribedRuntime;
  /** Whether the runtime has anything of a pod that nobody knows any more. */
  readonly isInRuntime: (pod: PodUid, signal: AbortSignal) => Promise<boolean>;
}

const NOTHING: readonly never[] = [];
/** How long a pod waits for its claims before the step counts as failed; it is begun again after a pause. */
const TIMEOUT_MS = 123_000;
const RETRY = { initialMs: 1_000, maxMs: 30_000 };
/** Claims of one pod that are read at once. */
const READ_AT_ONCE = 8;

/** The module; see above. */
export class ResourceClaims {
  readonly #deps: ResourceClaimsDeps;
  readonly #drivers: Drivers;
  readonly #slices: SliceCleanup;
  readonly #store: ClaimStore;
  readonly #keeper: ClaimKeeper;
  readonly #stale: StaleClaims;
  readonly #measures: ClaimMeasures;
  readonly #health: HealthWatch;
  readonly #waits = new Map<PodUid, ClaimWait>();

  constructor(options: ResourceClaimsOptions, deps: ResourceClaimsDeps) {
    this.#deps = deps;
    this.#slices = new SliceCleanup({ ...deps, nodeName: options.nodeName });
    this.#drivers = new Drivers({
      ...deps,
      events: {
        onUsable: (driver, usable) => this.#slices.usable(driver, usable),
        onRegistered: (connection) => this.#health.follow(connection),
      },
      mayRegister: () => this.#slices.begun,
    });
    this.#store = new ClaimStore(options.file, deps.state, () => [...this.claims.values()]);
    this.#keeper = new ClaimKeeper({
      findDriver: (driver) => this.#drivers.find(driver),
      saved: () => this.#store.saved(),
      onStale: () => this.#stale.check(),
      now: () => deps.clock.wall(),
      leaving: deps.scope.signal,
    });
    this.#stale = new StaleClaims({
      ...deps,
      keeper: this.#keeper,
      driverChanges: this.#drivers.changes,
    });
    this.#measures = claimMeasures(deps, () => this.claims);
    this.#health = new HealthWatch({
      ...deps,
      onChanged: (driver, devices) => this.#publishHealth(driver, new Set(devices)),
    });
  }

  /** Reads what was prepared in a previous run. Throws `UsageError` where that cannot be used. */
  async start(): Promise<void> {
    this.#keeper.restore(await this.#store.load());
    this.#slices.start();
  }

  /** Every source has been seen: claims of pods that are gone can be taken back. */
  sourcesSeen(): void {
    this.#stale.start();
  }

  /** Drivers that come through the registry folder. */
  get drivers(): Pick<Drivers, "register" | "deregister"> {
    return this.#drivers;
  }

  /** What is prepared or held, by namespace and name. */
  get claims(): ClaimTable {
    return this.#keeper.claims;
  }

  /**
   * Prepares the claims of the pod, trying again while that fails and at once when a driver comes. Failures are reported
   * each time. Throws `OutsideError` "deadline" when the pod has waited long enough.
   */
  async prepare(pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    await this.#untilDone(pod, "preparation", signal, {
      act: () =>
        this.#measures.measure("PrepareResources", signal, () =>
          this.#prepareOnce(uid, pod, signal),
        ),
      report: (fault) => {
        const message = `Failed to prepare dynamic resources: prepare dynamic resources: ${fault}`;
        const reason = "FailedPrepareDynamicResources";
        this.#deps.events.ofPod(pod, { type: "Warning", reason, message });
        return message;
      },
    });
  }

  /** Takes back all claims of a pod that has ended; tries again as `prepare` does. */
  async unprepare(pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const { uid, namespace, name } = pod.metadata;
    let last = "";
    await this.#untilDone(pod, "end", signal, {
      act: () =>
        this.#measures.measure("UnprepareResources", signal, () =>
          this.#keeper.unprepare(uid, signal),
        ),
      report: (fault) => {
        const message = `unprepare dynamic resources: ${fault}`;
        if (message !== last)
          this.#deps.log.warn("failed to unprepare resource claims", {
            pod: `${namespace}/${name}`,
            error: message,
          });
        last = message;
        return message;
      },
    });
  }

  /** What containers have of claims, for the pod resources API; what may be allocated the scheduler knows. */
  readonly held = {
    heldBy: (pod: IdentifiedPod) => heldClaims(pod, this.claims),
    allocatable: () => ({}),
  };

  /** Everything that can be seen of drivers and claims. */
  report(): ClaimReport {
    const { pods } = this.#deps;
    return reportClaims({
      claims: this.claims,
      inUse: this.#keeper.inUse,
      drivers: this.#drivers.list().map(({ target, link }) => ({
        name: target.driver,
        socketPath: target.socketPath,
        isConnected: link.get() === "ready",
      })),
      waits: this.#waits.values(),
      podOf: (uid) => pods.get(uid)?.pod,
      healthOf: (driver, key) => this.#health.of(driver, key),
    });
  }

  /** The devices that a container has of claims, with their health, as its status shows it. */
  allocatedResources(uid: PodUid, container: string): readonly ResourceStatus[] {
    if (this.claims.size === 0) return NOTHING;
    const pod = this.#deps.pods.get(uid)?.pod;
    if (!pod || !usesClaims(pod)) return NOTHING;
    return claimStatuses(pod, container, this.claims, (driver, key) =>
      this.#health.of(driver, key),
    );
  }

  /** CDI devices of a container that is about to be made. Throws `ClaimsNotReady`. */
  cdiDevices(
    pod: IdentifiedPod,
    container: Pick<Container, "name" | "resources">,
  ): readonly string[] {
    return cdiDevicesOf(pod, container, this.claims);
  }

  #publishHealth(driver: string, changed: ReadonlySet<string>): void {
    const pods = [...this.claims.values()].flatMap(({ pods: users, drivers }) =>
      (drivers.get(driver) ?? []).some(({ pool, device }) => changed.has(deviceKey(pool, device)))
        ? [...users]
        : [],
    );
    for (const uid of new Set(pods))
      this.#deps.news.publish({ kind: "devices", uid, what: "health" });
  }

  async #prepareOnce(uid: PodUid, pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const { pods, runtime } = this.#deps;
    // What controllers have written into its status since counts.
    const latest = pods.get(uid)?.pod ?? pod;
    const problem = cdiProblem(await runtime.version(signal), await runtime.describe(signal));
    if (problem !== undefined) throw new ClaimRefused(problem);
    const wanted = await this.#wanted(latest, signal);
    const before = new Set(wanted.filter((claim) => this.#isPrepared(claim)));
    await this.#keeper.prepare(uid, wanted, signal);
    for (const claim of wanted) this.#record(pod, claim, before.has(claim));
  }

  #isPrepared(claim: AllocatedClaim): boolean {
    return this.claims.get(claimKey(claim))?.isPrepared === true;
  }

  /** For the pod's history: which devices it has. */
  #record(pod: IdentifiedPod, claim: AllocatedClaim, wasPrepared: boolean): void {
    const info = this.claims.get(claimKey(claim));
    if (!info) return;
    const devices = devicesFor(info, undefined).map(
      ({ driver, pool, device }) => `${driver}/${deviceKey(pool, device)}`,
    );
    const rule = wasPrepared ? "it was prepared before" : "its drivers have prepared it";
    this.#deps.decisions.record(
      podSubject(pod),
      makeDecision("grantClaim", rule, { claim: claim.name, devices }),
    );
  }

  /** The claims of the pod, as the API server has them now; each once. */
  async #wanted(pod: IdentifiedPod, signal: AbortSignal): Promise<readonly AllocatedClaim[]> {
    const { client } = this.#deps;
    const { namespace } = pod.metadata;
    const named = new Map(claimsOfPod(pod).map((claim) => [claim.claimName, claim]));
    const read = await inParallel([...named.values()], READ_AT_ONCE, async (claim) => {
      const { claimName: name } = claim;
      try {
        if (!client) throw new OutsideError("precondition", "there is no API server");
        return {
          claim,
          object: await client.get(RESOURCE_CLAIMS, { namespace, name }, signal),
        };
      } catch (error) {
        signal.throwIfAborted();
        throw new ClaimRefused(`fetch ResourceClaim ${name}: ${messageOf(error)}`);
      }
    });
    return allValues(read).map(({ claim, object }) => readAllocated(pod, claim, object));
  }

  async #untilDone(
    pod: IdentifiedPod,
    what: ClaimWait["for"],
    signal: AbortSignal,
    step: { readonly act: () => Promise<void>; readonly report: (fault: string) => string },
  ): Promise<void> {
    const { clock, news, pods } = this.#deps;
    const { uid } = pod.metadata;
    const deadline = clock.monotonic() + TIMEOUT_MS;
    const wakeup = new Wakeup();
    using stack = new DisposableStack();
    stack.defer(this.#drivers.changes.subscribe(() => wakeup.wake()));
    stack.defer(() => this.#waits.delete(uid));
    const sinceMs = clock.wall();
    let seen = pods.get(uid)?.pod;
    stack.defer(
      pods.subscribe((key, fact) => {
        if (key !== uid || fact?.pod === seen) return;
        seen = fact?.pod;
        wakeup.wake();
      }),
    );
    for (let failures = 1; ; failures += 1) {
      try {
        return await step.act();
      } catch (error) {
        signal.throwIfAborted();
        this.#waits.set(uid, { pod, for: what, reason: messageOf(error), sinceMs });
        const message = step.report(messageOf(error));
        const left = deadline - clock.monotonic();
        if (left <= 0) throw new OutsideError("deadline", message, { cause: error });
        news.publish({ kind: "progress", uid, container: CLAIMS_PROGRESS, message });
        const ms = Math.min(retryDelayMs(failures, RETRY), left);
        // Else pods that wait for the same claim would wake each other for ever.
        const stop =
          error instanceof ClaimBusy ? this.#keeper.freed.subscribe(() => wakeup.wake()) : () => {};
        await wakeup.wait({ clock, ms }, signal);
        stop();
        signal.throwIfAborted();
      }
    }
  }
}
