// pure
import type { PodStatus } from "../generated/types.ts";

/** Reason in the status of pods that were ended by the node's shutdown (nodeshutdown_manager.go). */
export const SHUTDOWN_REASON = "Terminated";
/** See `SHUTDOWN_REASON`. */
export const SHUTDOWN_MESSAGE = "Pod was terminated in response to imminent node shutdown.";

/** Whether the pod was ended because the machine went down. */
export function isEndedByShutdown(status: PodStatus | undefined): boolean {
  return (
    status?.phase === "Failed" &&
    status.reason === SHUTDOWN_REASON &&
    status.message === SHUTDOWN_MESSAGE
  );
}
