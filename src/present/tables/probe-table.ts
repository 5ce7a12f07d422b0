// pure
import { humanDuration } from "../../api/text/human-duration.ts";
import { preciseText } from "../amounts.ts";
import type { ProbeReport } from "../shapes.ts";
import type { Column } from "./table.ts";

/** A probe in a table at `now`, Unix milliseconds. */
interface ProbeRow {
  readonly probe: ProbeReport;
  readonly now: number;
}

const STYLE = { success: "green", failure: "red" } as const;

/** Columns of a table of probes. */
export const PROBE_COLUMNS: readonly Column<ProbeRow>[] = [
  { title: "POD", value: ({ probe }) => `${probe.namespace}/${probe.podName}` },
  { title: "CONTAINER", value: ({ probe }) => probe.container },
  { title: "PROBE", value: ({ probe }) => probe.kind },
  { title: "HANDLER", value: ({ probe }) => probe.handler },
  {
    title: "VERDICT",
    value: ({ probe }) => probe.verdict ?? "",
    style: ({ probe }) => STYLE[probe.verdict as keyof typeof STYLE],
  },
  { title: "OK", value: ({ probe }) => String(probe.counts.successful), align: "right" },
  { title: "FAILED", value: ({ probe }) => String(probe.counts.failed), align: "right" },
  {
    title: "LAST",
    value: ({ probe, now }) => {
      const last = probe.history.at(-1);
      return last === undefined ? "never" : `${humanDuration(now - last.atMs)} ago`;
    },
  },
  { title: "EVERY", value: ({ probe }) => preciseText(probe.periodMs), align: "right" },
  { title: "TOOK", value: ({ probe }) => tookText(probe), align: "right" },
  { title: "SAID", value: ({ probe }) => probe.history.at(-1)?.output ?? "", wide: true },
];

function tookText({ history }: ProbeReport): string {
  const last = history.at(-1);
  return last === undefined ? "-" : `${Math.round(last.durationMs)} ms`;
}
