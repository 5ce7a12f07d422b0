import type { Decision, DecisionKind, DecisionOutcome } from "../../../api/decisions.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { CLAIMS_PROGRESS, VOLUMES_PROGRESS } from "../../../api/pod-news.ts";
import { type DecisionSubject, type Decisions, podSubject } from "../../../api/ports/decisions.ts";
import type { Clock } from "../../../kit/clock.ts";
import { withoutFigures } from "../../../kit/errors.ts";

/** An attempt that failed, until one like it ends otherwise. */
interface Failed {
  readonly decision: number;
  /** The decision's reasons; another decision is another story. */
  readonly key: string;
  /** Failure without the numbers in its text. */
  readonly fault: string;
  readonly times: number;
}

/** Kept only where they fail or take long: every pod has them, and they say nothing when all is well. */
const QUIET: ReadonlySet<DecisionKind> = new Set<DecisionKind>([
  "preparePod",
  "mountVolumes",
  "prepareClaims",
  "unprepareClaims",
]);

/** Steps of a whole pod by the name in whose place they report progress. */
const POD_STEPS: Readonly<Record<string, readonly string[]>> = {
  [VOLUMES_PROGRESS]: ["mountVolumes "],
  [CLAIMS_PROGRESS]: ["prepareClaims ", "unprepareClaims "],
};

/** A pull that has to wait is no attempt: the one before it says why. */
const HELD_BACK = "ImagePullBackOff";

/**
 * Records a pod's actions in the journal: each decision when its action begins, and its outcome.
 * Attempts in a row that fail alike are one entry with a count, which is written when it has doubled, so that a pod
 * that fails for days does not fill the journal. Holds one entry for each container and step of the pod.
 */
export class Attempts {
  readonly #decisions: Decisions;
  readonly #clock: Pick<Clock, "wall">;
  readonly #failed = new Map<string, Failed>();
  readonly #open = new Map<string, Attempt>();

  constructor(decisions: Decisions, clock: Pick<Clock, "wall">) {
    this.#decisions = decisions;
    this.#clock = clock;
  }

  /** An action begins that was decided on for this reason. */
  begin(pod: IdentifiedPod, decision: Decision): Attempt {
    const step = stepOf(decision);
    const last = this.#failed.get(step);
    const attempt = new Attempt(podSubject(pod), decision, {
      decisions: this.#decisions,
      beganAtMs: this.#clock.wall(),
      last: last?.key === keyOf(decision) ? last : undefined,
      onEnd: (failed) => {
        this.#open.delete(step);
        if (failed) this.#failed.set(step, failed);
        else this.#failed.delete(step);
      },
    });
    this.#open.set(step, attempt);
    return attempt;
  }

  /** Progress of a container, of the volumes or the claims (`VOLUMES_PROGRESS`, `CLAIMS_PROGRESS`), while their action runs. */
  waits(name: string, message: string): void {
    const steps = POD_STEPS[name] ?? [`startContainer ${name}`];
    for (const step of steps) this.#open.get(step)?.waits(message);
  }
}

interface AttemptDeps {
  readonly decisions: Decisions;
  readonly beganAtMs: number;
  /** The attempt before it, where that failed and was decided on alike. */
  readonly last: Failed | undefined;
  readonly onEnd: (failed: Failed | undefined) => void;
}

/** One action under way. */
export class Attempt {
  readonly decision: Decision;
  readonly #subject: DecisionSubject;
  readonly #deps: AttemptDeps;
  #decisionId: number | undefined;
  #waitsFor: string | undefined;

  constructor(subject: DecisionSubject, decision: Decision, deps: AttemptDeps) {
    this.decision = decision;
    this.#subject = subject;
    this.#deps = deps;
    if (!deps.last && !QUIET.has(decision.kind)) this.#decide();
  }

  /** It goes on, and waits for this. */
  waits(message: string): void {
    const isNews = withoutFigures(message) !== withoutFigures(this.#waitsFor ?? "");
    this.#waitsFor = message;
    if (isNews && !this.#deps.last) this.#conclude({ kind: "pending", message });
  }

  /** It is over. */
  end(outcome: DecisionOutcome): void {
    const { last, onEnd } = this.#deps;
    switch (outcome.kind) {
      case "failed":
        onEnd(this.#fail({ ...outcome, message: this.#faultOf(outcome.message) }));
        return;
      case "done":
        if (this.#decisionId !== undefined || last) this.#conclude(outcome);
        onEnd(undefined);
        return;
      case "abandoned":
        if (this.#decisionId !== undefined) this.#conclude(outcome);
        onEnd(last);
        return;
      case "pending":
      case "unknown":
        return;
      default:
        outcome satisfies never;
    }
  }

  /** Of volumes the last progress of one of them: that the pod has waited for long says nothing. */
  #faultOf(message: string): string {
    const isOfPod = Object.values(POD_STEPS).flat().includes(stepOf(this.decision));
    return isOfPod ? (this.#waitsFor ?? message) : message;
  }

  #fail(outcome: Extract<DecisionOutcome, { kind: "failed" }>): Failed {
    const { last } = this.#deps;
    const { reason, message } = outcome;
    if (reason === HELD_BACK && last) return last;
    const fault = `${reason} ${withoutFigures(message)}`;
    if (last?.fault === fault) {
      const times = last.times + 1;
      if (Number.isInteger(Math.log2(times)))
        this.#deps.decisions.conclude(this.#subject, last.decision, { ...outcome, times });
      return { ...last, times };
    }
    const decision = this.#conclude(outcome);
    return { decision, key: keyOf(this.decision), fault, times: 1 };
  }

  #decide(): number {
    const { decisions, beganAtMs } = this.#deps;
    this.#decisionId ??= decisions.record(this.#subject, this.decision, beganAtMs);
    return this.#decisionId;
  }

  #conclude(outcome: DecisionOutcome): number {
    const decision = this.#decide();
    this.#deps.decisions.conclude(this.#subject, decision, outcome);
    return decision;
  }
}

/** Key of the attempted step, whatever its reason: `startContainer main`, `mountVolumes `. */
function stepOf({ kind, inputs }: Decision): string {
  return `${kind} ${"container" in inputs ? inputs.container : ""}`;
}

function keyOf({ kind, rule, inputs }: Decision): string {
  return JSON.stringify({ kind, rule, inputs });
}
