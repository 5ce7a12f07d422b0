// pure
import type { ContainerStateTerminated, ContainerStatus } from "../../api/generated/types.ts";
import type { ContainerKind } from "../../api/pod/pod.ts";
import { EXIT_CODE_UNKNOWN, hasFailed } from "../pods/record/restart.ts";

/** State of a container whose end was not observed. */
export const NEVER_SEEN_TO_END: ContainerStateTerminated = {
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the pod was terminated",
  exitCode: EXIT_CODE_UNKNOWN,
};

/** The statuses of a pod's containers. */
export interface PodContainerStatuses {
  /** Those of init containers, in the order of the spec. */
  readonly init: readonly ContainerStatus[];
  readonly regular: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
}

/**
 * Statuses of a pod of which nothing runs any more: none of its containers waits for something still. Left
 * alone is what never had its turn: init containers after the last that was begun, and, before the pod was
 * initialized, the regular ones (status_manager.go TerminatePod). `lastKind` is the kind of the last init container.
 */
export function whenTerminated(
  lastKind: ContainerKind | undefined,
  { init, regular, ephemeral }: PodContainerStatuses,
): PodContainerStatuses {
  const begun = Math.max(1, 1 + init.findLastIndex(wasBegun));
  return {
    init: init.map((status, i) => (i < begun ? ended(status) : status)),
    regular: isInitialized(lastKind, { init, regular }) ? regular.map(ended) : regular,
    ephemeral,
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated
    ? status
    : { ...status, state: { terminated: NEVER_SEEN_TO_END } };
}

function wasBegun({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}

function isInitialized(
  lastKind: ContainerKind | undefined,
  { init, regular }: Pick<PodContainerStatuses, "init" | "regular">,
): boolean {
  if (regular.some(wasBegun)) return true;
  const last = init.at(-1);
  if (!last) return true;
  if (lastKind === "sidecar") return last.state?.running !== undefined && last.started === true;
  return [last.state, last.lastState].some(
    (state) => state?.terminated !== undefined && !hasFailed("init", state.terminated),
  );
}
