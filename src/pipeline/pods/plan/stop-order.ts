// pure

import type { Pod } from "../../../api/generated/types.ts";
import { sidecarsOf } from "../../../api/pod/pod.ts";
import type { StopOrder } from "./actions.ts";
import { regularContainers } from "./restart.ts";

/**
 * The orders with their turns: a sidecar ends after the regular containers and the sidecars behind it
 * (kuberuntime_termination_order.go). Nobody waits for init containers and ephemeral ones.
 */
export function inTurn(pod: Pod, orders: readonly StopOrder[]): readonly StopOrder[] {
  const sidecars = sidecarsOf(pod).map(({ name }) => name);
  const regular = new Set(regularContainers(pod).map(({ container }) => container.name));
  return orders.map((order) => {
    const place = sidecars.indexOf(order.name);
    if (place < 0) return order;
    const goesBefore = ({ name }: StopOrder) => regular.has(name) || sidecars.indexOf(name) > place;
    const after = orders.filter(goesBefore).map(({ id }) => id);
    return after.length === 0 ? order : { ...order, after };
  });
}
