// pure

import type { Column } from "../tables/table.ts";
import type { Style } from "../text.ts";
import type { PartVerdict } from "./judge-control-plane.ts";

/** Styles of verdicts. */
export const VERDICT_STYLES: Readonly<Record<PartVerdict["level"], Style>> = {
  ok: "green",
  warn: "yellow",
  fail: "red",
};

/** Columns of the parts of a control plane. */
export const CONTROL_PLANE_COLUMNS: readonly Column<PartVerdict>[] = [
  { title: "PART", value: ({ name }) => name },
  {
    title: "STATE",
    value: ({ level }) => level,
    style: ({ level }) => VERDICT_STYLES[level],
  },
  { title: "FOUND", value: ({ found }) => found },
  { title: "FIX", value: ({ fix }) => fix },
];
