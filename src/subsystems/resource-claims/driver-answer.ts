// pure
/** What drivers answer when claims are prepared or unprepared: every claim that was asked for, and no other. */
import type {
  NodePrepareResourcesResponse,
  NodeUnprepareResourcesResponse,
} from "../../outside/plugins/plugins.ts";
import type { ClaimInfo, PreparedDevice } from "./claim-info.ts";

/** A driver's answer, claim by claim. */
export interface DriverAnswer<T> {
  /** By UID of the claim; those that failed are missing. */
  readonly good: ReadonlyMap<string, T>;
  /** What was wrong first; `undefined` when all is well. */
  readonly fault: string | undefined;
}

type AskedClaim = Pick<ClaimInfo, "uid" | "name">;

/** The devices that a driver has prepared. */
export function readPrepared(
  asked: readonly AskedClaim[],
  { claims }: NodePrepareResourcesResponse,
): DriverAnswer<readonly PreparedDevice[]> {
  return readAnswer("NodePrepareResources", asked, claims, ({ devices }) =>
    devices.map(({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }) => ({
      pool: poolName,
      device: deviceName,
      shareId,
      requests: requestNames,
      cdiIds: cdiDeviceIds,
    })),
  );
}

/** The claims that a driver has unprepared. */
export function readUnprepared(
  asked: readonly AskedClaim[],
  { claims }: NodeUnprepareResourcesResponse,
): DriverAnswer<readonly PreparedDevice[]> {
  return readAnswer("NodeUnprepareResources", asked, claims, () => []);
}

function readAnswer<Entry extends { readonly error: string }, T>(
  call: string,
  asked: readonly AskedClaim[],
  answered: Readonly<Record<string, Entry>>,
  read: (entry: Entry) => T,
): DriverAnswer<T> {
  const good = new Map<string, T>();
  const faults: string[] = [];
  let skipped = 0;
  for (const { uid, name } of asked) {
    const entry = Object.hasOwn(answered, uid) ? answered[uid] : undefined;
    if (entry === undefined) skipped += 1;
    else if (entry.error === "") good.set(uid, read(entry));
    else faults.push(`${call} failed for ResourceClaim ${name}: ${entry.error}`);
  }
  const unknown = Object.keys(answered).find((uid) => !asked.some((each) => each.uid === uid));
  // Such a driver is confused: none of its answer counts.
  if (unknown !== undefined)
    return {
      good: new Map(),
      fault: `${call} returned result for unknown claim UID ${unknown}`,
    };
  if (skipped > 0) faults.push(`${call} skipped ${skipped} ResourceClaims`);
  return { good, fault: faults[0] };
}
