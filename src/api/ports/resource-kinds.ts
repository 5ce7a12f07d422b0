// pure

/** Kinds of resources that containers hold beside CPU time and memory by amount; each has a provider in every table of them. */
export type ResourceKind = "devices" | "cpus" | "memory";
