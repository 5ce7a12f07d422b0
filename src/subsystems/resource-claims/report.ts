// pure
/** Drivers and claims as they are shown: `/nodelet/v1/devices`. */
import { claimLabels } from "../../api/pod-claims.ts";
import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import { byKey, type ClaimInfo, type ClaimTable, claimKey, devicesFor } from "./claim-info.ts";
import { deviceKey } from "./health/device-health.ts";

/** Everything about resource claims that can be seen. */
export interface ClaimReport {
  /** Sorted by name. */
  readonly drivers: readonly {
    readonly name: string;
    /** `connected`: one of its instances is. */
    readonly state: "connected" | "unreachable";
    /** Where its instances serve, in the order in which they registered. */
    readonly sockets: readonly string[];
  }[];
  /** Sorted by namespace and name. */
  readonly claims: readonly ReportedClaim[];
  /** Pods that wait for their claims to be prepared, or after their end to be unprepared. */
  readonly waiting: readonly {
    /** `namespace/name` */
    readonly pod: string;
    readonly for: "preparation" | "end";
    /** As the pod's spec calls them. */
    readonly claims: readonly string[];
    readonly reason: string;
    /** Unix milliseconds. */
    readonly sinceMs: number;
  }[];
}

/** One claim that is prepared, or may be in part. */
interface ReportedClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `held`: prepared before the agent was started, or in part only. */
  readonly state: "prepared" | "preparing" | "unpreparing" | "held";
  /** Unix milliseconds; absent where it was not in this run of the agent. */
  readonly preparedMs?: number;
  /** Drivers that have named no device. */
  readonly withoutDevices: readonly string[];
  readonly devices: readonly {
    readonly driver: string;
    readonly pool: string;
    readonly device: string;
    readonly share?: string;
    /** Requests of the claim that it is for; for all of them when empty. */
    readonly requests: readonly string[];
    readonly cdiDevices: readonly string[];
    readonly health: "Healthy" | "Unhealthy" | "Unknown";
    readonly message?: string;
  }[];
  /** `namespace/name`, or the UID of a pod that no source names. */
  readonly pods: readonly string[];
}

/** A pod that waits. */
export interface ClaimWait {
  readonly pod: IdentifiedPod;
  readonly for: "preparation" | "end";
  readonly reason: string;
  readonly sinceMs: number;
}

interface ClaimReportInputs {
  readonly claims: ClaimTable;
  /** Claims for which drivers are being called, by key. */
  readonly inUse: ReadonlyMap<string, "prepare" | "unprepare">;
  readonly drivers: readonly {
    readonly name: string;
    readonly socketPath: string;
    readonly isConnected: boolean;
  }[];
  readonly waits: Iterable<ClaimWait>;
  readonly podOf: (uid: PodUid) => IdentifiedPod | undefined;
  readonly healthOf: (
    driver: string,
    key: string,
  ) => Pick<ReportedClaim["devices"][number], "health" | "message">;
}

/** Puts the report together. */
export function reportClaims(inputs: ClaimReportInputs): ClaimReport {
  const byName = Map.groupBy(inputs.drivers, ({ name }) => name);
  return {
    drivers: [...byName]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, instances]) => ({
        name,
        state: instances.some(({ isConnected }) => isConnected) ? "connected" : "unreachable",
        sockets: instances.map(({ socketPath }) => socketPath),
      })),
    claims: [...inputs.claims.values()].toSorted(byKey).map((claim) => reportClaim(claim, inputs)),
    waiting: [...inputs.waits].map(({ pod, reason, sinceMs, for: what }) => ({
      pod: nameOf(pod),
      for: what,
      claims: claimLabels(pod),
      reason,
      sinceMs,
    })),
  };
}

const nameOf = ({ metadata: { namespace, name } }: IdentifiedPod): string => `${namespace}/${name}`;

function reportClaim(
  claim: ClaimInfo,
  { inUse, podOf, healthOf }: ClaimReportInputs,
): ReportedClaim {
  const { namespace, name, uid, preparedMs, drivers, pods } = claim;
  const use = inUse.get(claimKey(claim));
  const calls = use === "prepare" ? "preparing" : use === "unprepare" ? "unpreparing" : undefined;
  return {
    namespace,
    name,
    uid,
    state: claim.isPrepared ? "prepared" : (calls ?? "held"),
    ...(claim.isPrepared && preparedMs !== undefined ? { preparedMs } : {}),
    withoutDevices: [...drivers].flatMap(([driver, { length }]) => (length === 0 ? driver : [])),
    devices: devicesFor(claim, undefined).map(
      ({ driver, pool, device, shareId, requests, cdiIds }) => ({
        driver,
        pool,
        device,
        ...(shareId === undefined ? {} : { share: shareId }),
        requests,
        cdiDevices: cdiIds,
        ...healthOf(driver, deviceKey(pool, device)),
      }),
    ),
    pods: [...pods].map((pod) => {
      const found = podOf(pod);
      return found ? nameOf(found) : pod;
    }),
  };
}
