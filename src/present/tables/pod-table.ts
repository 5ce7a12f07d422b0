// pure
import type { PodRow } from "./pod-row.ts";
import type { Column } from "./table.ts";

/** Columns of a table of pods (kubectl get pods). */
export function podColumns(allNamespaces: boolean): readonly Column<PodRow>[] {
  return [
    ...(allNamespaces ? [{ title: "NAMESPACE", value: ({ namespace }: PodRow) => namespace }] : []),
    { title: "NAME", value: ({ name }) => name },
    { title: "READY", value: ({ ready }) => ready },
    { title: "STATUS", value: ({ status }) => status, style: ({ style }) => style },
    { title: "RESTARTS", value: ({ restarts }) => restarts },
    { title: "AGE", value: ({ age }) => age },
    { title: "IP", value: ({ ip }) => ip, wide: true },
    { title: "NODE", value: ({ node }) => node, wide: true },
    { title: "WHY", value: ({ why }) => why || "-", wide: true },
  ];
}
