/** The history of probes as heat strips: an attempt a cell, its colour the result, its height the time it took. */
import { type ComponentChild, h } from "preact";
import type { ProbeReport } from "../../present/shapes.ts";

const CELL = 8;
const HEIGHT = 24;
const MIN_CELL_HEIGHT = 5;

/** A strip for each probe. */
export function ProbeStrips({
  reports,
}: {
  readonly reports: readonly ProbeReport[];
}): ComponentChild {
  if (reports.length === 0) return null;
  return h(
    "section",
    { "aria-label": "Probes" },
    h("h3", null, "Probes"),
    h(
      "dl",
      { class: "strips" },
      reports.map((report) => [
        h("dt", { key: probeKey(report) }, `${report.container} ${report.kind}`),
        h("dd", { key: `${probeKey(report)} strip` }, h(Strip, { report })),
      ]),
    ),
  );
}

/** The strip of one probe. */
export function Strip({ report }: { readonly report: ProbeReport }): ComponentChild {
  const { history, timeoutMs, verdict, counts } = report;
  const summary = `${verdict ?? "no result yet"}: ${counts.successful} succeeded, ${counts.failed} failed`;
  if (history.length === 0) return h("span", { class: "dim" }, summary);
  return h(
    "svg",
    {
      class: "strip",
      width: history.length * CELL,
      height: HEIGHT,
      role: "img",
      "aria-label": `${summary}; last ${history.length} attempts`,
    },
    history.map(({ atMs, durationMs, result, output }, at) => {
      const share = Math.min(1, durationMs / Math.max(1, timeoutMs));
      const height = Math.round(MIN_CELL_HEIGHT + share * (HEIGHT - MIN_CELL_HEIGHT));
      return h(
        "rect",
        {
          key: atMs,
          x: at * CELL,
          y: HEIGHT - height,
          width: CELL - 1,
          height,
          class: `cell ${result}`,
        },
        h(
          "title",
          null,
          `${new Date(atMs).toTimeString().slice(0, 8)} ${result}, ${Math.round(durationMs)} ms ${output}`,
        ),
      );
    }),
  );
}

/** A key of a probe among all probes of the node. */
export function probeKey({ podUid, container, kind }: ProbeReport): string {
  return `${podUid}/${container}/${kind}`;
}
