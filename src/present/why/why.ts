// pure
/**
 * Decisions as sentences and as a story.
 *
 *     for (const { title, text } of storyOf(decisions)) console.log(title, text);
 */
/** Decisions and what became of them as a history for readers. */

import type { DecisionInputs, DecisionKind, DecisionRecord } from "../../api/decisions.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { humanBytes, spokenDuration } from "../amounts.ts";
import { counted, oneLine } from "../text.ts";
import { attemptTitle, describeAttempt, type FactKind, isAttemptRecord } from "./attempts.ts";
import { listed, sentence, shortUid } from "./phrases.ts";

/** One step of a pod's history; equal decisions that follow each other are one step. */
export interface HistoryStep {
  /** Of the last decision of this step, Unix milliseconds. */
  readonly atMs: number;
  readonly kind: string;
  /** A word or two for it. */
  readonly title: string;
  /** One sentence. */
  readonly text: string;
  /** How many decisions in a row it stands for. */
  readonly times: number;
  readonly uid: string | undefined;
  /** Whether it says what became of the decision. */
  readonly hasOutcome: boolean;
}

type Describe<K extends DecisionKind> = (inputs: DecisionInputs[K], rule: string) => string;

/** Sentences for each kind of decision from its inputs. */
const SENTENCES: { readonly [K in FactKind]: Describe<K> } = {
  admit: ({ rules }) => `Admitted: passed ${counted(rules, "check")}.`,
  reject: ({ reason, message }, rule) =>
    `Rejected by the check "${rule}" (${reason}): ${sentence(message)}`,
  defer: ({ reason, message }, rule) =>
    `Not admitted yet, check "${rule}" (${reason}): ${sentence(message)}`,
  allocateResize: ({ requests }) => `Resize accepted${requests === "" ? "" : `: ${requests}`}.`,
  deferResize: ({ message }, rule) =>
    `Resize deferred by the check "${rule}", to be tried again: ${sentence(message)}`,
  refuseResize: ({ message }, rule) =>
    `Resize is not possible on this node, check "${rule}": ${sentence(message)}`,
  adopt: ({ containers }) =>
    `Found running when the agent started: ${counted(containers, "container")} left running.`,
  replace: ({ predecessorUid }) =>
    `Its manifest has changed: this pod (${shortUid(predecessorUid)}) is stopped first, then the new one starts.`,
  delaySandbox: ({ message }) => `Waiting to create the pod sandbox: ${sentence(message)}`,
  delayRestart: ({ container, delayMs }) =>
    `Waiting ${spokenDuration(delayMs)} before ${container} is restarted (CrashLoopBackOff): it keeps exiting.`,
  leaveStopped: ({ container, exitCode, policy }) =>
    `${container} is not restarted after exit code ${exitCode}: restartPolicy is ${policy}.`,
  containerExited: exitSentence,
  killPod: ({ graceSeconds, reason }) =>
    `Stopping the pod (grace period ${counted(graceSeconds, "second")}): ${sentence(reason)}`,
  completePod: ({ phase }) =>
    phase === "Failed"
      ? "The pod has failed: its containers are not restarted."
      : "The pod has completed: its containers are not restarted.",
  release: ({ cause }) =>
    `Nothing of the pod is left on the node${RELEASE_CAUSES[cause] ?? `: ${cause}`}.`,
  holdPod: ({ problem }) =>
    `The runtime cannot report the pod's state, so nothing is started, stopped or removed: ${sentence(problem)}`,
  resumePod: () => "The runtime reports the pod's state again.",
  grantDevices: ({ container, resource, devices }, rule) =>
    `Allocated ${resource} to ${container}: ${listed(devices)} (${rule}).`,
  grantClaim: ({ claim, devices }, rule) =>
    `Resource claim ${claim} gives ${devices.length === 0 ? "no devices" : listed(devices)} (${rule}).`,
  grantCpus: ({ container, cpus, ofPod, shares, nodes }, rule) =>
    `Gave ${container} the CPUs ${cpus}${ofPod === undefined ? "" : ` of the pod's CPUs ${ofPod}`} ${
      shares ? "to share with the pod's other containers" : "for itself"
    } (${rule}${
      nodes === undefined ? "" : `: the hints of all resources agreed on NUMA node ${nodes}`
    }).`,
  releaseCpus: ({ cpus }, rule) => `The CPUs ${cpus} are shared again: ${rule}.`,
  collectImage: ({ idleMs, sizeBytes, usagePercent }, rule) =>
    `It was removed (${humanBytes(sizeBytes)}): ${
      rule === "age"
        ? "it was not used for longer than the maximum age"
        : usagePercent === undefined
          ? "its space was asked for"
          : `its space was asked for when ${usagePercent}% of the disk were used`
    }; nothing had used it for ${humanDuration(idleMs)}.`,
  evictPod: evictionSentence,
  exceedStorage: ({ what, usedBytes, limitBytes, graceSeconds }, rule) =>
    `Evicting the pod (grace period ${counted(graceSeconds, "second")}): disk usage of ${EXCEEDERS[rule]?.(what) ?? rule} was ${humanBytes(usedBytes)}, above the limit ${humanBytes(limitBytes)}.`,
  reclaimNode: ({ signal, steps, threshold, before, after }, rule) =>
    `${signal} was ${before}, below the threshold ${threshold}; removed ${steps.map((step) => RECLAIMED[step] ?? step).join(" and ")}${after === undefined ? "" : `, after which ${signal} was ${after}`}: ${rule}.`,
  startAgent: ({ version }) =>
    `Agent started${version === undefined ? "" : `, version ${version}`}.`,
  stopAgent: ({ reason }) => `Agent stopped, containers kept running: ${sentence(reason)}`,
  agentExited: ({ result, status }) =>
    `The agent ended without being stopped: ${EXITS[result]?.(status) ?? `${result} ${status}`}.`,
  startShutdown: ({ pods, totalSeconds, groups }) =>
    `The machine shuts down: ${counted(pods, "pod")} are ended within ${counted(totalSeconds, "second")}, by priority (${listed(groups)}).`,
  shutDownPod: ({ graceSeconds, priority, groupPriority, periodSeconds }) =>
    `The node shuts down: the pod (priority ${priority}) has ${counted(graceSeconds, "second")} to finish, of the ${counted(periodSeconds, "second")} for priorities from ${groupPriority}.`,
  endShutdownGroup: ({ priority, tookMs, ended, cutOff }) =>
    [
      `Pods of priority ${priority} and above took ${spokenDuration(tookMs)}: ${ended.length === 0 ? "none has ended" : ended.join("; ")}.`,
      ...(cutOff.length === 0 ? [] : [`Not ended in time: ${listed(cutOff)}.`]),
    ].join(" "),
  endShutdown: shutdownSentence,
  stopNode: ({ pods, left }) =>
    left.length === 0
      ? `nodelet stop: stopped ${counted(pods, "pod")}, agent and runtime, and kept their state.`
      : `nodelet stop: stopped ${counted(pods, "pod")} and the agent, but not ${listed(left)}.`,
  releaseDevices: ({ devices }, rule) =>
    `Released ${counted(devices.length, "device")} (${rule}): ${listed(devices)}.`,
};

const TITLES: { readonly [K in FactKind]: string } = {
  admit: "admitted",
  reject: "rejected",
  defer: "waiting",
  allocateResize: "resize",
  deferResize: "resize waits",
  refuseResize: "no resize",
  adopt: "adopted",
  holdPod: "held",
  resumePod: "resumed",
  replace: "replaced",
  delaySandbox: "waiting",
  delayRestart: "back-off",
  leaveStopped: "stays ended",
  containerExited: "exited",
  killPod: "stopping",
  completePod: "completed",
  release: "gone",
  grantCpus: "CPUs",
  releaseCpus: "CPUs back",
  grantClaim: "devices",
  grantDevices: "devices",
  releaseDevices: "devices back",
  collectImage: "removed",
  evictPod: "evicted",
  exceedStorage: "evicted",
  reclaimNode: "reclaimed",
  startAgent: "started",
  stopAgent: "stopped",
  agentExited: "ended",
  startShutdown: "shutdown",
  shutDownPod: "shutdown",
  endShutdownGroup: "shutdown",
  endShutdown: "shutdown",
  stopNode: "stopped",
};

/** Subject of each limit on local storage. */
const EXCEEDERS: Readonly<Record<string, (what: string) => string>> = {
  "emptydirfs.limit": (volume) => `volume ${volume}`,
  "ephemeralpodfs.limit": () => "the pod",
  "ephemeralcontainerfs.limit": (container) => `container ${container}`,
};

const RECLAIMED: Readonly<Record<string, string>> = {
  containers: "dead containers",
  images: "unused images",
};

const RELEASE_CAUSES: Readonly<Record<string, string>> = {
  deleted: "",
  removed: "",
  completed: ": it had completed and was deleted",
  orphaned: ": no manifest or API object named it",
  rejected: ": it was rejected and was deleted",
  evicted: ": the node ended it and it was deleted",
};

/** Texts for the results of services (systemd.exec(5), SERVICE_RESULT). */
const EXITS: Readonly<Record<string, (status: string) => string>> = {
  "exit-code": (status) =>
    status === "2"
      ? "it exited with code 2, as its configuration or flags cannot be used; its log says which"
      : `it exited with code ${status}; the end of its log says why`,
  signal: (status) =>
    status === "ABRT" || status === "TRAP"
      ? `it was aborted (SIG${status}), as when its heap is full; the end of its log says why`
      : `it was killed by SIG${status}`,
  "core-dump": (status) => `it crashed with SIG${status}; the end of its log says why`,
  watchdog: () =>
    "the watchdog killed it, as it had not reported in time that it was healthy; its log says what was wrong",
  "oom-kill": () => "the kernel killed it, or a program that it ran, because memory was short",
  timeout: () => "it did not start or stop in time",
};

function shutdownSentence(inputs: DecisionInputs["endShutdown"], rule: string): string {
  const { tookMs = 0, ended = 0, cutOff = [], startedAtMs = 0 } = inputs;
  switch (rule) {
    case "cancelled":
      return "The shutdown of the machine was cancelled; pods that had been ended stay so.";
    case "not finished":
      return `The shutdown that began at ${rfc3339(startedAtMs as WallMs)} was not finished: the machine went down before all pods had ended, or the agent was killed.`;
    default: {
      const went = `${counted(ended, "pod")} ended for the shutdown in ${spokenDuration(tookMs)}`;
      const left = counted(cutOff.length, "pod");
      return cutOff.length === 0
        ? `${went}, none was cut off.`
        : `${went}; the machine does not wait for ${left} more: ${listed(cutOff)}.`;
    }
  }
}

const SIGNALS: Readonly<Record<number, string>> = { 137: "SIGKILL", 143: "SIGTERM" };

function exitSentence({
  container,
  exitCode,
  reason,
  message,
  limit,
  limitOf,
}: DecisionInputs["containerExited"]): string {
  if (reason === "OOMKilled") {
    const why =
      limit === undefined
        ? "the node ran out of memory, as neither container nor pod has a limit"
        : limitOf === "container or pod"
          ? `it reached the memory limit of the container or that of the pod (${limit}); the kernel does not report which`
          : `it reached the memory limit of the ${limitOf ?? "container"} (${limit})`;
    return `${container} was OOM-killed (exit code ${exitCode}): ${why}.`;
  }
  const signal = SIGNALS[exitCode];
  const code = signal === undefined ? `code ${exitCode}` : `code ${exitCode} (${signal})`;
  const stated = message === undefined ? "" : `: ${message}`;
  return sentence(`${container} exited with ${code}${stated}`);
}

/** A word or two for a decision; kinds of other versions stand for themselves. */
export function storyTitle(record: Pick<DecisionRecord, "kind" | "outcome">): string {
  const { kind, outcome } = record;
  if (isAttemptRecord(record as DecisionRecord)) return attemptTitle(kind as never, outcome);
  return Object.hasOwn(TITLES, kind) ? TITLES[kind as FactKind] : kind;
}

/** One decision as a sentence. Records of other versions are shown with rule and inputs. */
export function describeDecision(record: DecisionRecord): string {
  if (isAttemptRecord(record)) return oneLine(describeAttempt(record));
  const { kind, rule, inputs } = record;
  if (!Object.hasOwn(SENTENCES, kind)) return `${rule} ${JSON.stringify(inputs)}`;
  // The journal keeps what `decided` was given for this kind.
  const describe = SENTENCES[kind as FactKind] as Describe<DecisionKind>;
  return oneLine(describe(inputs as unknown as DecisionInputs[DecisionKind], rule));
}

/** The decisions as steps, oldest first: by when they were made, not by when they were written down. */
export function storyOf(decisions: readonly DecisionRecord[]): readonly HistoryStep[] {
  const steps: HistoryStep[] = [];
  for (const record of inOrder(decisions)) {
    const { atMs, kind, subject } = record;
    const text = describeDecision(record);
    const last = steps.at(-1);
    if (last?.kind === kind && last.text === text && last.uid === subject.uid)
      steps[steps.length - 1] = { ...last, atMs, times: last.times + 1 };
    else {
      const step = { atMs, kind, title: storyTitle(record), text, times: 1, uid: subject.uid };
      steps.push({ ...step, hasOutcome: record.outcome !== undefined });
    }
  }
  return steps;
}

/** A record with its place: when it was, and at which turn of that moment. */
interface Placed {
  readonly record: DecisionRecord;
  readonly atMs: number;
  readonly turn: number;
}

/**
 * By when they were made. The runtime reports when a container ended, by a clock of its own: that is never before its
 * start, nor before the stop that ended it. What was given up stands where it was.
 */
function inOrder(decisions: readonly DecisionRecord[]): readonly DecisionRecord[] {
  const anchors = new Map<string, DecisionRecord>();
  const placed = decisions.map((record): Placed => {
    const { kind, sequence, outcome, atMs } = record;
    if (kind === "containerExited") return placeOfEnd(record, anchors);
    if (kind === "startContainer" || kind === "killContainer")
      anchors.set(anchorOf(record), record);
    if (outcome?.kind === "abandoned") return { record, atMs: outcome.atMs, turn: Infinity };
    return { record, atMs, turn: sequence };
  });
  return placed
    .toSorted((a, b) => a.atMs - b.atMs || a.turn - b.turn)
    .map(({ record, atMs }) => ({ ...record, atMs }));
}

/** A stop is of whatever attempt runs, a start of one attempt. */
function anchorOf({ kind, subject, inputs }: DecisionRecord): string {
  const attempt = kind === "killContainer" ? "" : ` ${inputs["restartCount"]}`;
  return `${subject.uid} ${kind} ${inputs["container"]}${attempt}`;
}

/** Clocks of runtime and agent differ by less. */
const SAME_MOMENT_MS = 1000;

function placeOfEnd(record: DecisionRecord, anchors: ReadonlyMap<string, DecisionRecord>): Placed {
  let place: Placed = { record, atMs: record.atMs, turn: record.sequence };
  for (const kind of ["startContainer", "killContainer"] as const) {
    const anchor = anchors.get(anchorOf({ ...record, kind }));
    const laterMs = anchor ? anchor.atMs - place.atMs : Number.NaN;
    if (anchor && laterMs >= -1 && laterMs < SAME_MOMENT_MS)
      place = { record, atMs: Math.max(anchor.atMs, place.atMs), turn: anchor.sequence + 0.5 };
  }
  return place;
}

function evictionSentence(inputs: DecisionInputs["evictPod"], rule: string): string {
  const { signal, resource, kind, threshold, available, used, requested, priority, pods } = inputs;
  const { graceSeconds, passedOver, next, savedByRequest, savedByPriority } = inputs;
  const usage = used === undefined ? "usage not measured" : `usage ${used}`;
  const request = ["memory", "ephemeral-storage"].includes(resource)
    ? `, request ${requested}`
    : "";
  const saved = [
    savedByRequest === undefined ? "" : `a request of ${savedByRequest}`,
    savedByPriority === undefined ? "" : `a priority of ${savedByPriority}`,
  ].filter((text) => text !== "");
  return [
    `Evicting the pod (grace period ${counted(graceSeconds, "second")}): ${signal} was ${available}, below the ${kind} threshold ${threshold}.`,
    `It ranked first of ${counted(pods, "pod")} (${rule}): ${usage}${request}, priority ${priority}.`,
    passedOver.length === 0 ? "" : `Ranked before it but not evictable: ${listed(passedOver)}.`,
    next.length === 0 ? "" : `Next in order: ${listed(next)}.`,
    saved.length === 0 ? "" : `With ${saved.join(" or ")} it would not have ranked first.`,
  ]
    .filter((text) => text !== "")
    .join(" ");
}
