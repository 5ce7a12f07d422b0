// pure
import type { Decision } from "../../../api/decisions.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { PodAction, PodPlan } from "../plan/actions.ts";
import { planPod } from "../plan/plan.ts";
import type { PodRecord } from "../record/record.ts";
import { transition } from "../record/transition.ts";
import { withPlan } from "../record/with-plan.ts";
import { decidedState, type FlightStep } from "./flight.ts";
import { REDACTED } from "./flight-text.ts";

/** The functions that decide. */
export interface Deciders {
  readonly transition: typeof transition;
  readonly planPod: typeof planPod;
}

/** A replayed step with its decisions as text. */
export interface ReplayedStep {
  /** Counted from 1, as in the recording. */
  readonly number: number;
  readonly atMs: number;
  readonly uid: PodUid;
  /** `namespace/name`. */
  readonly pod: string;
  /** Kind of the signal, or `plan`. */
  readonly input: string;
  /** Decisions with their rules; empty when there were none. */
  readonly decided: readonly string[];
  /** First difference from the recording. */
  readonly departure?: Departure;
}

/** Difference of recorded and replayed decisions, each as JSON of the part that differs. */
interface Departure {
  /** Path of the first part that differs, e.g. `actions[0].kind`. */
  readonly path: string;
  readonly recorded: string;
  readonly replayed: string;
}

/**
 * Plays the steps of a recording through the functions that decide. After a departure a pod goes on from what was
 * decided now, so that its later steps show what would have become of it; other pods are not touched.
 */
export function* replayFlight(
  steps: readonly FlightStep[],
  deciders: Deciders = { transition, planPod },
): Generator<ReplayedStep> {
  const records = new Map<PodUid, PodRecord>();
  for (const [i, step] of steps.entries()) {
    if (step.kind === "begin") {
      records.set(step.uid, step.record);
      continue;
    }
    const before = records.get(step.uid);
    if (!before) throw new Error(`step ${i + 1}: pod ${step.uid} has no beginning`);
    const { name, namespace } = before.pod.metadata;
    const common = { number: i + 1, atMs: step.atMs, uid: step.uid, pod: `${namespace}/${name}` };
    if (step.kind === "plan") {
      const plan = deciders.planPod(before, step.context);
      records.set(step.uid, withPlan(before, plan));
      yield { ...common, input: "plan", decided: wordsOf(plan), ...departing(step.plan, plan) };
    } else {
      const after = deciders.transition(before, step.signal, step.now);
      records.set(step.uid, after);
      const decided =
        after.life.kind === before.life.kind ? [] : [`${before.life.kind} → ${after.life.kind}`];
      const departs = departing(step.after, decidedState(after));
      yield { ...common, input: step.signal.kind, decided, ...departs };
    }
  }
}

function departing(recorded: unknown, replayed: unknown): { readonly departure?: Departure } {
  const departure = firstDifference(plain(recorded), plain(replayed), "");
  return departure ? { departure } : {};
}

/** As a recording has it: without fields that are undefined. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, inner: unknown) =>
      inner === Number.POSITIVE_INFINITY ? "infinite" : inner,
    ),
  );
}

function firstDifference(a: unknown, b: unknown, path: string): Departure | undefined {
  if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = Array.isArray(a) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      const found = firstDifference(a[key], b[key], at);
      if (found) return found;
    }
    return undefined;
  }
  if (Object.is(a, b) || isRedacted(a, b)) return undefined;
  return { path, recorded: shown(a), replayed: shown(b) };
}

/** Whether a recorded text may be the other one without what was secret: a name of a container can be the value of a variable. */
function isRedacted(recorded: unknown, replayed: unknown): boolean {
  if (typeof recorded !== "string" || typeof replayed !== "string") return false;
  const [first = "", ...others] = recorded.split(REDACTED);
  const last = others.pop();
  if (last === undefined || !replayed.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = replayed.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return replayed.length >= at + last.length && replayed.endsWith(last);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

/** The actions, ends and delays of a plan, each with the rule that it goes by. */
function wordsOf({ actions, ends, standing }: PodPlan): readonly string[] {
  return [
    ...actions.map(actionWords),
    ...(ends ? [`terminate: ${ends.decision.rule}`] : []),
    ...standing.map((decision) => decisionWords(decision)),
  ];
}

function actionWords(action: PodAction): string {
  if (!("decision" in action)) return action.kind;
  const decisions: readonly Decision[] = Array.isArray(action.decision)
    ? action.decision
    : [action.decision as Decision];
  return `${action.kind}: ${decisions.map(decisionWords).join(", ")}`;
}

function decisionWords({ kind, rule, inputs }: Decision): string {
  const container = "container" in inputs ? ` ${inputs.container}` : "";
  return `${kind}${container} (${rule})`;
}
