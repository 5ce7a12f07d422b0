// pure
import type { QosClass } from "../../api/pod/qos.ts";
import { type CgroupDriver, KUBEPODS, parsePath, podUidOf } from "./names.ts";

/** Role of a cgroup of the machine for the agent. */
export type GroupPlace =
  /** All pods of the node. */
  | { readonly kind: "node" }
  | { readonly kind: "tier"; readonly qos: QosClass }
  | { readonly kind: "pod"; readonly uid: string }
  /** `group` is the runtime's name for it, which holds the container's id. */
  | { readonly kind: "container"; readonly uid: string; readonly group: string }
  | { readonly kind: "other" };

const TIERS: Readonly<Record<string, QosClass>> = {
  burstable: "Burstable",
  besteffort: "BestEffort",
};

/**
 * The group at a path that the kernel reports. The path starts at the root of the hierarchy, which may be far
 * above the agent's own root (a container, a cgroup namespace): the part above the group of all pods is
 * ignored.
 */
export function locateGroup(path: string, driver: CgroupDriver): GroupPlace {
  const parts = path.split("/").filter((part) => part !== "");
  const own = (part: string) => parsePath(part, driver).at(-1) ?? "";
  const at = parts.findIndex((part) => own(part) === KUBEPODS);
  if (at < 0) return { kind: "other" };
  const below = parts.slice(at + 1);
  const tier = TIERS[own(below[0] ?? "")];
  const [pod, container] = tier === undefined ? below : below.slice(1);
  if (pod === undefined) return tier === undefined ? { kind: "node" } : { kind: "tier", qos: tier };
  const uid = podUidOf(own(pod));
  if (uid === undefined) return { kind: "other" };
  return container === undefined
    ? { kind: "pod", uid }
    : { kind: "container", uid, group: container };
}
