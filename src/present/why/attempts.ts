// pure
/** Decisions that are carried out: what was to be done, and what became of it. */
import type {
  DecisionInputs,
  DecisionKind,
  DecisionOutcome,
  DecisionRecord,
} from "../../api/decisions.ts";
import { spokenDuration } from "../amounts.ts";
import { counted, oneLine } from "../text.ts";
import { listed, sentence } from "./phrases.ts";

/** Kinds whose text depends on what became of them. */
type AttemptKind =
  | "preparePod"
  | "mountVolumes"
  | "prepareClaims"
  | "unprepareClaims"
  | "startSandbox"
  | "startContainer"
  | "killContainer"
  | "resizePod";

/** One action in the forms that its outcomes need. */
interface Verbs {
  /** `Started web` */
  readonly done: string;
  /** `start web`: after "Failed to", and for actions whose end is unknown. */
  readonly base: string;
  /** `Starting web` */
  readonly pending: string;
  /** Why; empty where the action speaks for itself. */
  readonly why: string;
}

type Describe<K extends AttemptKind> = (inputs: DecisionInputs[K], rule: string) => Verbs;

const PARTS = { directories: "the pod's folders", cgroup: "the pod's cgroup" } as const;

const claimsText = (claims: readonly string[]): string =>
  `resource ${claims.length === 1 ? "claim" : "claims"} ${listed(claims)}`;

const VERBS: { readonly [K in AttemptKind]: Describe<K> } = {
  preparePod: ({ part }) => verbs("create", "Creat", PARTS[part]),
  mountVolumes: ({ volumes }) =>
    verbs("mount", "Mount", `${volumes.length === 1 ? "volume" : "volumes"} ${listed(volumes)}`),
  prepareClaims: ({ claims }) => verbs("prepare", "Prepar", claimsText(claims)),
  unprepareClaims: ({ claims }) => verbs("unprepare", "Unprepar", claimsText(claims)),
  startSandbox: ({ attempt }, rule) =>
    attempt === 0
      ? verbs("create", "Creat", "the pod sandbox")
      : verbs("create", "Creat", "another pod sandbox", SANDBOX_FAULTS[rule] ?? rule),
  startContainer: startVerbs,
  killContainer: ({ container, graceSeconds, detail }, rule) => ({
    base: `stop ${container}`,
    pending: `Stopping ${container}`,
    done: `Stopped ${container}`,
    why: `${killReason(rule, detail, container)} (grace period ${counted(graceSeconds, "second")})`,
  }),
  resizePod: ({ containers }) => ({
    base: `resize ${resized(containers)}`,
    pending: `Resizing ${resized(containers)}`,
    done: `Resized ${resized(containers)}${containers.length === 0 ? "" : " without a restart"}`,
    why: "",
  }),
};

const SANDBOX_FAULTS: Readonly<Record<string, string>> = {
  "no sandbox": "it has none",
  "several ready sandboxes": "there was more than one",
  "sandbox not ready": "the previous one no longer runs",
  "sandbox has no address": "the previous one got no IP address",
  "network mode changed": "hostNetwork has changed",
  "pod cgroup was missing": "the pod's cgroup was missing",
};

const KILL_REASONS: Readonly<Record<string, string>> = {
  "liveness probe failed": "its liveness probe failed",
  "startup probe failed": "its startup probe failed",
  "definition changed": "its definition has changed",
  "resize requires restart": "its new resources need a restart",
  "state unknown": "the runtime does not know its state",
  "sandbox not ready": "the pod sandbox no longer runs",
  "pod deleted": "the pod is stopping",
  "pod completed": "the other containers of the pod have completed",
  "pod orphaned": "no manifest or API object names the pod",
  "pod rejected": "the pod was rejected",
  "pod evicted": "the node ends the pod",
  "pod Evicted": "the pod is evicted",
  "pod DeadlineExceeded": "the pod ran longer than activeDeadlineSeconds",
  "pod Preempting": "a critical pod needs its resources",
  "restartPolicyRules: RestartAllContainers": "all containers of the pod are restarted",
};

function verbs(base: string, stem: string, what: string, why = ""): Verbs {
  return { base: `${base} ${what}`, pending: `${stem}ing ${what}`, done: `${stem}ed ${what}`, why };
}

function startVerbs(
  { container, restartCount, lastExitCode, policy }: DecisionInputs["startContainer"],
  rule: string,
): Verbs {
  if (restartCount === 0) return verbs("start", "Start", container);
  const again = `${container} (restart ${restartCount})`;
  const cause = RESTART_CAUSES[rule] ?? rule;
  if (lastExitCode === undefined || !rule.startsWith("restartPolicy"))
    return verbs("restart", "Restart", again, cause);
  const why = rule.startsWith("restartPolicyRules") ? rule : `restartPolicy is ${policy}`;
  return verbs("restart", "Restart", again, `it exited with code ${lastExitCode}, and ${why}`);
}

const RESTART_CAUSES: Readonly<Record<string, string>> = {
  "all containers are restarted": "all containers of the pod are restarted",
  "is gone from the runtime": "the runtime no longer has it",
  "resize requires restart": "its new resources need a restart",
  "sandbox is new": "the pod sandbox is new",
  "was created but never started": "it was created but never started",
  "was stopped to be started again": "it was stopped to be restarted",
};

function killReason(rule: string, detail: string, container: string): string {
  const known = KILL_REASONS[rule];
  if (known !== undefined) return known;
  const reported = oneLine(detail).replace(/\.$/, "");
  return reported === "" || reported === `Stopping container ${container}` ? rule : reported;
}

function resized(containers: readonly string[]): string {
  return containers.length === 0
    ? "the pod's cgroup"
    : `the pod's cgroup and ${listed(containers)}`;
}

/** Whether the text of this kind depends on its outcome. */
function isAttempt(kind: string): kind is AttemptKind {
  return Object.hasOwn(VERBS, kind);
}

/** Text of an attempt with its outcome; for records without one, of the decision only. */
export function describeAttempt(record: DecisionRecord & { readonly kind: AttemptKind }): string {
  const { kind, rule, inputs, outcome, atMs } = record;
  // The journal keeps what `decided` was given for this kind.
  const describe = VERBS[kind] as Describe<AttemptKind>;
  const texts = describe(inputs as unknown as never, rule);
  const { base, pending, done } = texts;
  const why = texts.why === "" ? "" : `: ${texts.why}`;
  switch (outcome?.kind) {
    case undefined:
      return sentence(`Decided to ${base}${why}`);
    case "done":
      return sentence(`${done}${tookText(outcome.atMs - atMs)}${why}`);
    case "pending":
      return sentence(`${pending}${outcome.message === undefined ? why : `: ${outcome.message}`}`);
    case "failed":
      if (outcome.reason === POST_START)
        return sentence(
          `${done}, then stopped it as its postStart hook failed: ${outcome.message}`,
        );
      return sentence(`Failed to ${base}${failureText(outcome, outcome.atMs - atMs)}`);
    case "abandoned":
      return sentence(`Did not ${base}${outcome.message === "" ? "" : `: ${outcome.message}`}`);
    case "unknown":
      return sentence(`Began to ${base}; the agent was stopped before the result was known`);
    default:
      return outcome satisfies never;
  }
}

/** The container ran, and was stopped again. */
const POST_START = "PostStartHookError";

/** Shorter durations are not mentioned. */
const MIN_SHOWN_MS = 5_000;

function tookText(ms: number): string {
  return ms < MIN_SHOWN_MS ? "" : ` after ${spokenDuration(ms)}`;
}

function failureText(
  { reason, message, times }: Extract<DecisionOutcome, { kind: "failed" }>,
  ms: number,
): string {
  const tries = times > 1 ? ` (${times} times in ${spokenDuration(ms)})` : "";
  const head = CLEAR_BY_ITSELF.has(reason) ? "" : `${reason}: `;
  return `${tries}: ${head}${withoutHead(message)}`;
}

/** Reasons that say no more than that it failed. */
const CLEAR_BY_ITSELF: ReadonlySet<string> = new Set([
  "",
  "Error",
  "Failed",
  "FailedMount",
  "CreatePodSandboxError",
  "KillContainerError",
  "FailedCreatePodContainer",
]);

/** The message without the words that it shares with every other of its kind. */
function withoutHead(message: string): string {
  return oneLine(message).replace(
    /^Failed to create pod sandbox: (rpc error: code = \S+ desc = )?/,
    "",
  );
}

const TITLES: {
  readonly [K in AttemptKind]: readonly [done: string, pending: string, failed: string];
} = {
  preparePod: ["prepared", "preparing", "failed"],
  mountVolumes: ["mounted", "mounting", "not mounted"],
  prepareClaims: ["prepared", "preparing", "not prepared"],
  unprepareClaims: ["unprepared", "unpreparing", "not unprepared"],
  startSandbox: ["sandbox", "sandbox", "no sandbox"],
  startContainer: ["started", "starting", "not started"],
  killContainer: ["stopped", "stopping", "not stopped"],
  resizePod: ["resized", "resizing", "not resized"],
};

/** A word or two for an attempt. */
export function attemptTitle(kind: AttemptKind, outcome: DecisionOutcome | undefined): string {
  const [done, pending, failed] = TITLES[kind];
  switch (outcome?.kind) {
    case "done":
      return done;
    case "failed":
      return failed;
    case "abandoned":
      return "given up";
    case undefined:
    case "pending":
    case "unknown":
      return pending;
    default:
      return outcome satisfies never;
  }
}

/** Whether the kind of a record is one of these. */
export function isAttemptRecord(
  record: DecisionRecord,
): record is DecisionRecord & { readonly kind: AttemptKind } {
  return isAttempt(record.kind);
}

/** Kinds whose text does not depend on an outcome. */
export type FactKind = Exclude<DecisionKind, AttemptKind>;
