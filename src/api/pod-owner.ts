/** Another agent that has a folder of the pod: it runs, or nobody has seen it run for a time, or that cannot be found out. */
export type PodOwner =
  | { readonly kind: "running"; readonly root: string }
  | { readonly kind: "gone"; readonly root: string; readonly forMs: number }
  | { readonly kind: "unknown" };
