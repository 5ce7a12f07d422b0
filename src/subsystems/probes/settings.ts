// pure
import type { ProbeKind } from "../../api/probe-result.ts";

/** Periods of probes that are finer than the API's seconds, like `web/readiness=200ms,web/startup=100ms`. */
export const PERIODS_ANNOTATION = "nodelet.dev/probe-periods";
/** Timeouts of probes, in the same form. */
export const TIMEOUTS_ANNOTATION = "nodelet.dev/probe-timeouts";
/** Whether processes of exec probes that ran out of time are ended (`end`, the default) or left (`keep`). */
export const LEFTOVERS_ANNOTATION = "nodelet.dev/probe-leftovers";

/** Minimum period and timeout of a probe. */
const FINEST_MS = 50;
const COARSEST_MS = 3_600_000;

/** Probe settings of a pod by annotation. */
export interface ProbeSettings {
  /** Milliseconds by `container/kind`. */
  readonly periodsMs: ReadonlyMap<string, number>;
  readonly timeoutsMs: ReadonlyMap<string, number>;
  /** `undefined` where the pod leaves it to the node. */
  readonly endLeftovers: boolean | undefined;
  /** Invalid settings, each with its annotation and how to fix it. */
  readonly problems: readonly string[];
}

/** The key of a probe in the maps. */
export function settingKey(container: string, kind: ProbeKind): string {
  return `${container}/${kind}`;
}

/** Reads the annotations; `known` are the keys of the probes there are. What cannot be read is left out. */
export function parseProbeSettings(
  annotations: Readonly<Record<string, string>>,
  known: ReadonlySet<string>,
): ProbeSettings {
  const problems: string[] = [];
  const read = (annotation: string): ReadonlyMap<string, number> => {
    const times = new Map<string, number>();
    for (const entry of (annotations[annotation] ?? "").split(",").map((part) => part.trim())) {
      if (entry === "") continue;
      const parsed = parseEntry(entry, known);
      if ("problem" in parsed) problems.push(`${annotation}: ${parsed.problem}`);
      else times.set(parsed.key, parsed.ms);
    }
    return times;
  };
  const periodsMs = read(PERIODS_ANNOTATION);
  const timeoutsMs = read(TIMEOUTS_ANNOTATION);
  const leftovers = annotations[LEFTOVERS_ANNOTATION];
  if (leftovers !== undefined && leftovers !== "end" && leftovers !== "keep")
    problems.push(
      `${LEFTOVERS_ANNOTATION}: ${JSON.stringify(leftovers)} is neither "end" nor "keep"`,
    );
  const endLeftovers = leftovers === "keep" ? false : leftovers === "end" ? true : undefined;
  return { periodsMs, timeoutsMs, endLeftovers, problems };
}

type Entry = { readonly key: string; readonly ms: number } | { readonly problem: string };

function parseEntry(entry: string, known: ReadonlySet<string>): Entry {
  const [, key = "", amount = "", unit = ""] =
    /^([^=\s]+)\s*=\s*(\d{1,9}(?:\.\d{1,6})?)(ms|s)$/.exec(entry) ?? [];
  const quoted = JSON.stringify(entry);
  if (key === "") return { problem: `${quoted} is not like web/readiness=200ms` };
  if (!known.has(key)) return { problem: `${quoted}: the pod has no probe ${key}` };
  const ms = Math.round(Number(amount) * (unit === "s" ? 1000 : 1));
  if (ms < FINEST_MS) return { problem: `${quoted} is less than ${FINEST_MS}ms` };
  if (ms > COARSEST_MS) return { problem: `${quoted} is more than an hour` };
  return { key, ms };
}
