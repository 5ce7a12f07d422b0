// pure
/**
 * Tables of aligned columns.
 *
 *     renderTable(podColumns(true), pods.map((pod) => podRow(pod, now)), { wide: true });
 */
import { largest } from "../../kit/limits/lists.ts";
import {
  cutText,
  oneLine,
  type Paint,
  padText,
  plainPaint,
  type Style,
  textWidth,
} from "../text.ts";

/** One column of a table of `T`. */
export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => string;
  readonly style?: (row: T) => Style | undefined;
  /** Numbers are easier to compare when they end below each other; default left. */
  readonly align?: "left" | "right";
  /** Shown with `-o wide` only. */
  readonly wide?: boolean;
}

/** How a table is shown. */
export interface TableOptions {
  readonly paint?: Paint;
  readonly wide?: boolean;
  readonly headers?: boolean;
  /** Lines are cut at this width; the last column gives way first. No limit when left out. */
  readonly columns?: number;
}

const GAP = "   ";

/** The table as lines without line breaks, columns aligned, no blanks at the ends. */
export function renderTable<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  options: TableOptions = {},
): readonly string[] {
  const { paint = plainPaint, wide = false, headers = true } = options;
  const shown = columns.filter((column) => wide || column.wide !== true);
  const cells = rows.map((row) => shown.map(({ value }) => oneLine(value(row)) || "-"));
  const widths = shown.map(({ title }, i) =>
    largest(
      cells.map((line) => textWidth(line[i] ?? "")),
      headers ? textWidth(title) : 0,
    ),
  );
  const fitted = fit(widths, options.columns);
  const line = (texts: readonly string[], styleOf: (i: number) => Style | undefined): string => {
    const parts = texts.map((text, i) => {
      const width = fitted[i] ?? 0;
      const cut = cutText(text, width);
      const last = i === texts.length - 1 && shown[i]?.align !== "right";
      const style = styleOf(i);
      const painted = style === undefined ? cut : paint(style, cut);
      const blanks = " ".repeat(width - textWidth(cut));
      if (shown[i]?.align === "right") return blanks + painted;
      return last ? painted : painted + blanks;
    });
    return parts.join(GAP).trimEnd();
  };
  const titles = shown.map(({ title, align }, i) => padText(title, fitted[i] ?? 0, align));
  return [
    ...(headers ? [line(titles, () => "bold")] : []),
    ...rows.map((row, at) => line(cells[at] ?? [], (i) => shown[i]?.style?.(row))),
  ];
}

/** Columns are not made narrower than this, so that something is left to see. */
const MIN_WIDTH = 4;
/** The last column gives way first, down to this. */
const MIN_LAST_WIDTH = 10;

/** Widths that fit together into `columns`: the last column gives way first, then always the widest. */
function fit(widths: readonly number[], columns: number | undefined): readonly number[] {
  if (columns === undefined) return widths;
  const fitted = [...widths];
  const total = fitted.reduce((sum, width) => sum + width, GAP.length * (fitted.length - 1));
  let excess = total - columns;
  const shrink = (i: number, by: number) => {
    fitted[i] = (fitted[i] ?? 0) - by;
    excess -= by;
  };
  const last = fitted.length - 1;
  shrink(last, Math.max(0, Math.min(excess, (fitted[last] ?? 0) - MIN_LAST_WIDTH)));
  while (excess > 0) {
    const widest = largest(fitted);
    if (widest <= MIN_WIDTH) break;
    shrink(fitted.indexOf(widest), 1);
  }
  return fitted;
}
