/** The parts of the control plane on the node. */
import { type ComponentChild, h } from "preact";
import { VERDICT_STYLES } from "../../present/control-plane/control-plane-table.ts";
import {
  controlPlaneVerdicts,
  type PartVerdict,
} from "../../present/control-plane/judge-control-plane.ts";
import type { ControlPlaneReport } from "../../present/shapes.ts";
import type { ViewProps } from "../store.ts";
import { Table, type TableColumn } from "./table.ts";

const COLUMNS: readonly TableColumn<PartVerdict>[] = [
  { title: "Part", value: ({ name }) => name },
  { title: "State", value: ({ level }) => level, style: ({ level }) => VERDICT_STYLES[level] },
  { title: "Found", value: ({ found }) => found },
  { title: "Fix", value: ({ fix }) => fix },
];

/** A section for them; nothing on a node without a control plane. */
export function ControlPlaneSection({
  report,
  pods,
}: {
  readonly report: ControlPlaneReport;
  readonly pods: ViewProps["state"]["pods"];
}): ComponentChild {
  if (report.components.length === 0) return null;
  return h(Table<PartVerdict>, {
    caption: "Control plane",
    columns: COLUMNS,
    rows: controlPlaneVerdicts(report, [...pods.values()]),
    keyOf: ({ name }) => name,
    empty: "",
  });
}
