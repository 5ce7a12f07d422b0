// pure
import type { StorageClass } from "../api/generated/types.ts";

/** Marks the class that claims get that name none. */
export const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

/** Name of the class that a claim gets that names none: the youngest that is marked. */
export function defaultClassOf(classes: readonly StorageClass[]): string | undefined {
  const marked = classes.filter(
    ({ metadata }) => metadata?.annotations?.[DEFAULT_CLASS] === "true",
  );
  const born = ({ metadata }: StorageClass) => metadata?.creationTimestamp ?? "";
  return marked.toSorted((a, b) => (born(a) < born(b) ? 1 : -1)).at(0)?.metadata?.name;
}
