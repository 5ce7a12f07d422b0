/** A bar: how much of something is used, and where its limit is. */
import { type ComponentChild, h } from "preact";

const WIDTH = 240;
const HEIGHT = 12;

/** Properties of a bar. Shares are parts of the whole, from 0 to 1. */
interface BarProps {
  readonly label: string;
  readonly share: number;
  /** Position of the line that marks a limit. */
  readonly limit?: number;
  readonly text: string;
}

/** The bar with its text, which says all that the bar shows. */
export function Bar({ label, share, limit, text }: BarProps): ComponentChild {
  const used = Math.max(0, Math.min(1, share));
  const isOver = limit !== undefined && share >= limit;
  return h(
    "div",
    { class: "bar" },
    label !== "" && h("span", { class: "label" }, label),
    h(
      "svg",
      { width: WIDTH, height: HEIGHT, role: "img", "aria-label": `${label} ${text}` },
      h("rect", { width: WIDTH, height: HEIGHT, class: "track" }),
      h("rect", { width: WIDTH * used, height: HEIGHT, class: isOver ? "fill over" : "fill" }),
      limit !== undefined &&
        h("line", { x1: WIDTH * limit, x2: WIDTH * limit, y1: 0, y2: HEIGHT, class: "limit" }),
    ),
    h("span", null, text),
  );
}
