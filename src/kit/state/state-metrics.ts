import type { Reading } from "../cell.ts";
import type { MetricsRegistry } from "../metrics.ts";

/** Exposes how many files were set aside, by kind of file, and how many can neither be read nor written now. */
export function exposeStateFiles(
  metrics: MetricsRegistry,
  problems: Reading<readonly { readonly kind: string; readonly file: string }[]>,
  setAside: ReadonlyMap<string, number>,
): void {
  metrics.collected(
    {
      name: "nodelet_state_files_set_aside_total",
      help: "Damaged state files that were renamed to .broken, by kind of file.",
      type: "counter",
    },
    () => [...setAside].map(([file, value]) => ({ labels: { file }, value })),
  );
  metrics.collected(
    {
      name: "nodelet_state_files_in_memory",
      help: "State files that cannot be read or written now and are kept in memory, by kind of file.",
      type: "gauge",
    },
    () => {
      const counts = new Map<string, number>();
      for (const { kind, file } of problems.get())
        if (kind !== "setAside") counts.set(file, (counts.get(file) ?? 0) + 1);
      return [...counts].map(([file, value]) => ({ labels: { file }, value }));
    },
  );
}
