// pure
import { counterOf, named } from "./define.ts";

const SOURCE = ["resource_name", "source"] as const;
const ASSIGNMENT = ["resource_name", "assignment_type"] as const;

/** CPUs and memory of containers and of pods as a whole; they stay empty without the gate PodLevelResourceManagers. */
export const ALLOCATION_METRICS = named({
  kubelet_resource_manager_allocations_total: counterOf(
    "ALPHA",
    "Exclusive allocations of a resource to containers, from the node or from what their pod has as a whole.",
    SOURCE,
  ),
  kubelet_resource_manager_allocation_errors_total: counterOf(
    "ALPHA",
    "Exclusive allocations of a resource that failed, from the node or for a pod as a whole.",
    SOURCE,
  ),
  kubelet_resource_manager_container_assignments_total: counterOf(
    "ALPHA",
    "Containers by what they have of a resource: some of the node's or of their pod's for themselves, or a share of their pod's.",
    ASSIGNMENT,
  ),
});
