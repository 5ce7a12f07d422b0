// pure

/** Kinds of resources that containers hold beside CPU time and memory by amount; each has a provider in every table of them. */
export type ResourceKind = PlacedResourceKind | "resourceClaims";

/** Those for which NUMA nodes are chosen here; of claims the scheduler has chosen the devices. */
export type PlacedResourceKind = "devices" | "cpus" | "memory";
