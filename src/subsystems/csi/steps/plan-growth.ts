// pure
import type { PersistentVolumeClaim } from "../../../api/generated/types.ts";
import { parseQuantity, quantityValue, readQuantity } from "../../../api/text/quantity.ts";
import { GRPC_STATUS } from "../../../outside/grpc/status.ts";

const STORAGE = "storage";
const NOT_HERE_ANNOTATION = "volume.kubernetes.io/node-expansion-not-required";
/** States in which the node is to act. */
const PENDING: ReadonlySet<string> = new Set(["NodeResizePending", "NodeResizeInProgress"]);
/** Conditions that say that a volume is to grow, or could not. */
const GROWTH_CONDITIONS: ReadonlySet<string> = new Set([
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]);

/** What to do about the size of a volume. `records`: the claim says how far it is, and the node notes its part there. */
type GrowthPlan =
  | { readonly kind: "nothing" }
  /** It has the size already: nothing is to be done here. */
  | { readonly kind: "done"; readonly sizeBytes: bigint }
  | { readonly kind: "expand"; readonly sizeBytes: bigint; readonly records: boolean };

/** The size in bytes; `undefined` when there is none that can be read. */
export function sizeOf(text: string | undefined): bigint | undefined {
  if (text === undefined || readQuantity(text).kind !== "quantity") return undefined;
  return quantityValue(parseQuantity(text));
}

/** Whether and how to grow a volume to what its persistent volume says (node_expander.go, expander.go). */
export function planGrowth(claim: PersistentVolumeClaim, pvBytes: bigint): GrowthPlan {
  const { status = {}, metadata, spec } = claim;
  const { allocatedResources, allocatedResourceStatuses } = status;
  const capacity = sizeOf(status.capacity?.[STORAGE]) ?? 0n;
  const state = allocatedResourceStatuses?.[STORAGE] ?? "";
  const isLegacy = allocatedResources === undefined && state === "";
  if (isLegacy) return { kind: "expand", sizeBytes: pvBytes, records: false };
  const sizeBytes = sizeOf(allocatedResources?.[STORAGE]) ?? pvBytes;
  if (capacity >= sizeBytes && state === "") {
    const isShared = (spec?.accessModes ?? []).includes("ReadWriteMany");
    const isNotHere = metadata?.annotations?.[NOT_HERE_ANNOTATION] !== undefined;
    return isShared && !isNotHere
      ? { kind: "expand", sizeBytes, records: false }
      : { kind: "done", sizeBytes };
  }
  if (PENDING.has(state)) return { kind: "expand", sizeBytes, records: true };
  return { kind: "nothing" };
}

/** What a driver's refusal means for the claim. */
export type Refusal = "offline" | "infeasible" | "retry";

/** The meaning of the status with which an expansion ended; `undefined`: no driver answered. */
export function refusalOf(status: number | undefined): Refusal {
  switch (status) {
    case GRPC_STATUS.FailedPrecondition:
      return "offline";
    case GRPC_STATUS.InvalidArgument:
    case GRPC_STATUS.OutOfRange:
    case GRPC_STATUS.NotFound:
      return "infeasible";
    default:
      return "retry";
  }
}

/** Status of the claim while the node is at it. */
export const inProgressPatch = (): object => ({
  status: { allocatedResourceStatuses: { [STORAGE]: "NodeResizeInProgress" } },
});

/** Status of the claim once the volume has grown: conditions of others stay. */
export function grownPatch(claim: PersistentVolumeClaim, sizeText: string): object {
  const kept = (claim.status?.conditions ?? []).filter(({ type }) => !GROWTH_CONDITIONS.has(type));
  return {
    status: {
      capacity: { [STORAGE]: sizeText },
      allocatedResourceStatuses: { [STORAGE]: null },
      conditions: kept,
    },
  };
}

/** Status of the claim after a failure. */
export function refusedPatch(
  claim: PersistentVolumeClaim,
  {
    message,
    isInfeasible,
    now,
  }: {
    readonly message: string;
    readonly isInfeasible: boolean;
    readonly now: string;
  },
): object {
  const type = "NodeResizeError";
  const others = (claim.status?.conditions ?? []).filter((condition) => condition.type !== type);
  const condition = {
    type,
    status: "True",
    message: `failed to expand pvc with ${message}`,
    lastTransitionTime: now,
  };
  return {
    status: {
      ...(isInfeasible ? { allocatedResourceStatuses: { [STORAGE]: "NodeResizeInfeasible" } } : {}),
      conditions: [...others, condition],
    },
  };
}
