/** A meter: what is used beside what was requested and what is allowed. */
import { type ComponentChild, h } from "preact";

const WIDTH = 100;
const HEIGHT = 8;
/** Without a limit the greatest value stands at this part of the meter. */
const HEADROOM = 0.75;
/** From this part of the limit on a meter warns. */
const NEAR = 0.9;

/** Amounts in one unit. */
interface MeterProps {
  /** Name of the quantity, e.g. `memory of kubepods`. */
  readonly label: string;
  readonly used: number | undefined;
  readonly requested?: number | undefined;
  /** Value at the end of the meter. */
  readonly limit?: number | undefined;
  readonly show: (amount: number) => string;
}

/** The meter above its text, which says all that it shows. */
export function Meter({ label, used, requested, limit, show }: MeterProps): ComponentChild {
  const end = limit ?? Math.max(used ?? 0, requested ?? 0) / HEADROOM;
  const width = (amount: number) => (end > 0 ? Math.min(1, amount / end) * WIDTH : 0);
  const isNear = limit !== undefined && used !== undefined && used >= limit * NEAR;
  const text = meterText({ used, requested, limit, show });
  return h(
    "div",
    { class: limit === undefined ? "meter open" : "meter" },
    h(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${label}: ${text}`,
      },
      h("rect", { width: WIDTH, height: HEIGHT, class: "track" }),
      requested !== undefined &&
        h("rect", { width: width(requested), height: HEIGHT, class: "requested" }),
      used !== undefined &&
        h("rect", {
          y: HEIGHT / 4,
          width: width(used),
          height: HEIGHT / 2,
          class: isNear ? "fill over" : "fill",
        }),
    ),
    h("span", { class: isNear ? "amount bad" : "amount" }, text),
  );
}

/** `12m used, 100m requested, limit 500m`. */
function meterText({ used, requested, limit, show }: Omit<MeterProps, "label">): string {
  return [
    used === undefined ? "not measured yet" : show(used),
    ...(requested === undefined || requested === 0 ? [] : [`${show(requested)} requested`]),
    limit === undefined ? "no limit" : `limit ${show(limit)}`,
  ].join(" · ");
}
