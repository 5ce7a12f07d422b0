/** Tables: the columns of the command line, in HTML. */
import { type ComponentChild, h } from "preact";
import type { Style } from "../../present/text.ts";

/** A column of a table. */
export interface TableColumn<Row> {
  readonly title: string;
  readonly value: (row: Row) => ComponentChild;
  readonly style?: (row: Row) => Style | undefined;
  readonly align?: "left" | "right";
}

/** Properties of a table. */
interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown in place of rows. */
  readonly empty: string;
}

/** Classes of the command line's colours. */
const CLASSES: Partial<Record<Style, string>> = {
  green: "good",
  yellow: "warn",
  red: "bad",
  dim: "dim",
};

/** A table with a header row. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
}: TableProps<Row>): ComponentChild {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  return h(
    "div",
    { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    // The roles stay where a narrow screen shows each row as a block.
    h(
      "table",
      { role: "table" },
      h("caption", null, caption),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          columns.map(({ title, align }) =>
            h(
              "th",
              {
                key: title,
                scope: "col",
                role: "columnheader",
                ...(align ? { class: align } : {}),
              },
              title,
            ),
          ),
        ),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map((row) =>
          h(
            "tr",
            { key: keyOf(row), role: "row" },
            columns.map((column) => cellOf(column, row)),
          ),
        ),
      ),
    ),
  );
}

function cellOf<Row>({ title, value, style, align }: TableColumn<Row>, row: Row): ComponentChild {
  const cellStyle = style?.(row);
  const classes = [cellStyle === undefined ? undefined : CLASSES[cellStyle], align].filter(Boolean);
  return h(
    "td",
    {
      key: title,
      role: "cell",
      "data-title": title,
      ...(classes.length > 0 ? { class: classes.join(" ") } : {}),
    },
    value(row),
  );
}
