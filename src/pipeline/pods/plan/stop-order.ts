// pure

import type { Pod } from "../../../api/generated/types.ts";
import { sidecarsOf } from "../../../api/pod/pod.ts";
import type { StopRequest } from "./actions.ts";

/**
 * The stop requests with their dependencies: a sidecar ends after the regular containers and the sidecars behind it
 * (kuberuntime_termination_order.go). Nobody waits for init containers and ephemeral ones.
 */
export function inTurn(pod: Pod, stops: readonly StopRequest[]): readonly StopRequest[] {
  const sidecars = sidecarsOf(pod).map(({ name }) => name);
  const regular = new Set((pod.spec?.containers ?? []).map(({ name }) => name));
  return stops.map((stop) => {
    const place = sidecars.indexOf(stop.name);
    if (place < 0) return stop;
    const goesBefore = ({ name }: StopRequest) =>
      regular.has(name) || sidecars.indexOf(name) > place;
    const after = stops.filter(goesBefore).map(({ id }) => id);
    return after.length === 0 ? stop : { ...stop, after };
  });
}
