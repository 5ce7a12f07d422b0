/** A word with the colour of its meaning. */
import { type ComponentChild, h } from "preact";
import type { Style } from "../../present/text.ts";

const CLASSES: Partial<Record<Style, string>> = { green: "good", yellow: "warn", red: "bad" };

/** A status. */
export function Pill({
  text,
  style,
}: {
  readonly text: string;
  readonly style: Style | undefined;
}): ComponentChild {
  const pillStyle = style === undefined ? undefined : CLASSES[style];
  return h("span", { class: `pill ${pillStyle ?? ""}`.trim() }, text);
}
