// pure
/** What is known of the claims that pods of this node use. */
import type { PodUid } from "../../api/pod-identity.ts";

/** A device that a driver has prepared. */
export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  /** Its share, of a device that several claims have parts of. */
  readonly shareId: string | undefined;
  /** Requests of the claim that it is for; for all of them when empty. */
  readonly requests: readonly string[];
  /** Names by which the runtime hands it to a container. */
  readonly cdiIds: readonly string[];
}

/** One claim; replaced, never changed. */
export interface ClaimInfo {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Pods that it was or may have been prepared for. */
  readonly pods: ReadonlySet<PodUid>;
  /** Devices by driver, as each returned them; none before that. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
  /** All its drivers have prepared it in this run of the agent. */
  readonly isPrepared: boolean;
  /** When that was, Unix milliseconds. */
  readonly preparedMs?: number;
}

/** Claims by `claimKey`. */
export type ClaimTable = ReadonlyMap<string, ClaimInfo>;

/** Key of a claim: a second one of the same name comes only after the first. */
export const claimKey = ({ namespace, name }: Pick<ClaimInfo, "namespace" | "name">): string =>
  `${namespace}/${name}`;

/** The claims that are held for the pod, by name. */
export function claimsHeldFor(claims: ClaimTable, pod: PodUid): readonly ClaimInfo[] {
  return [...claims.values()].filter(({ pods }) => pods.has(pod)).sort(byKey);
}

/** Orders claims by their keys. */
export function byKey(a: ClaimInfo, b: ClaimInfo): number {
  const [left, right] = [claimKey(a), claimKey(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Devices of the claim for one of its requests, or for all of them, with their drivers. */
export function devicesFor(
  { drivers }: Pick<ClaimInfo, "drivers">,
  request: string | undefined,
): readonly (PreparedDevice & { readonly driver: string })[] {
  return [...drivers].flatMap(([driver, devices]) =>
    devices
      .filter(({ requests }) => isFor(requests, request))
      .map((device) => ({ ...device, driver })),
  );
}

/** A driver may name a choice of the request (`gpu/large`) where it stands for the request as a whole. */
function isFor(requests: readonly string[], request: string | undefined): boolean {
  if (!request || requests.length === 0) return true;
  return requests.some((name) => name === request || name.startsWith(`${request}/`));
}
