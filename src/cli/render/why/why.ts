// pure
/** Decisions as a story that a person understands. */

import type { DecisionInputs, DecisionKind, DecisionRecord } from "../../../api/decisions.ts";
import { humanDuration } from "../../../api/text/human-duration.ts";
import { humanBytes, spokenDuration } from "../amounts.ts";
import { counted, oneLine } from "../text.ts";

/** One step of a pod's story; equal decisions that follow each other are one step. */
export interface StoryStep {
  /** Of the last decision of this step, Unix milliseconds. */
  readonly atMs: number;
  readonly kind: string;
  /** One sentence. */
  readonly text: string;
  /** How many decisions in a row it stands for. */
  readonly times: number;
  readonly uid: string | undefined;
}

type Tell<K extends DecisionKind> = (inputs: DecisionInputs[K], rule: string) => string;

/** What the inputs of each kind of decision mean, in words. */
const SENTENCES: { readonly [K in DecisionKind]: Tell<K> } = {
  admit: ({ rules }) => `It may run here: ${counted(rules, "rule")} asked, none against it.`,
  reject: ({ reason, message }, rule) =>
    `It may not run here (${reason}, rule "${rule}"): ${sentence(message)}`,
  defer: ({ reason, message }, rule) =>
    `It has to wait and is asked again (${reason}, rule "${rule}"): ${sentence(message)}`,
  allocateResize: ({ requests }) =>
    `It was given the resources that were asked for${requests === "" ? "" : `: ${requests}`}.`,
  deferResize: ({ message }, rule) =>
    `The resources that were asked for are not to be had now (rule "${rule}"), and are asked for again: ${sentence(message)}`,
  refuseResize: ({ message }, rule) =>
    `The resources that were asked for can never be had here (rule "${rule}"): ${sentence(message)}`,
  resizePod: ({ containers }) =>
    containers.length === 0
      ? "Its control group gets the new resources."
      : `Its control group and ${listed(containers)} get the new resources as they run.`,
  adopt: ({ containers }) =>
    `It was running when the agent began: ${counted(containers, "container")} taken over untouched.`,
  replace: ({ predecessorUid }) =>
    `Its definition has changed: the pod that runs (${short(predecessorUid)}) is ended first, then the new one starts.`,
  startSandbox: ({ attempt }, rule) =>
    attempt === 0
      ? "Its sandbox is made, which holds its network and namespaces."
      : `A new sandbox is made (number ${attempt + 1}), because ${SANDBOX_FAULTS[rule] ?? rule}.`,
  startContainer: startSentence,
  delayRestart: ({ container, delayMs }) =>
    `${container} is not restarted at once: it ended again and again, so ${spokenDuration(delayMs)} pass between its end and the next start.`,
  leaveStopped: ({ container, exitCode, policy }) =>
    `${container} ended with code ${exitCode} and stays so, as restartPolicy ${policy} wants it.`,
  killContainer: ({ container, graceSeconds, detail }, rule) =>
    `${container} is ended, with ${counted(graceSeconds, "second")} to finish: ${killReason(rule, detail, container)}.`,
  killPod: ({ graceSeconds, reason }) =>
    `The pod is ended, with ${counted(graceSeconds, "second")} to finish: ${oneLine(reason)}.`,
  release: ({ cause }) => `Nothing of it is left on the node (${RELEASE_CAUSES[cause] ?? cause}).`,
  holdPod: ({ problem }) =>
    `What runs of it cannot be read, so that nothing is started, ended or removed: ${sentence(problem)}`,
  resumePod: () => "What runs of it can be read again: work on it goes on.",
  grantDevices: ({ container, resource, devices }, rule) =>
    `${container} gets of ${resource}: ${listed(devices)} (${rule}).`,
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
    `The pod is evicted, with ${counted(graceSeconds, "second")} to finish: ${EXCEEDERS[rule]?.(what) ?? rule} takes ${humanBytes(usedBytes)} of the node's disk, and its limit is ${humanBytes(limitBytes)}.`,
  reclaimNode: ({ signal, steps, threshold, before, after }, rule) =>
    `Of ${signal} ${before} were left, less than ${threshold}: ${listed(steps.map((step) => RECLAIMED[step] ?? step))} were removed${after === undefined ? "" : `, and ${after} were left then`}, which was ${rule}.`,
  releaseDevices: ({ devices }, rule) =>
    `It has given back ${counted(devices.length, "device")} (${rule}): ${listed(devices)}.`,
};

const TITLES: { readonly [K in DecisionKind]: string } = {
  admit: "admitted",
  reject: "refused",
  defer: "put off",
  allocateResize: "resize given",
  deferResize: "resize waits",
  refuseResize: "resize refused",
  resizePod: "resized",
  adopt: "taken over",
  holdPod: "held",
  resumePod: "resumed",
  replace: "replaced",
  startSandbox: "sandbox",
  startContainer: "started",
  delayRestart: "waits",
  leaveStopped: "stays ended",
  killContainer: "ended",
  killPod: "pod ended",
  release: "gone",
  grantDevices: "devices",
  releaseDevices: "devices back",
  collectImage: "removed",
  evictPod: "evicted",
  exceedStorage: "evicted",
  reclaimNode: "reclaimed",
};

/** Who exceeded which limit on local storage. */
const EXCEEDERS: Readonly<Record<string, (what: string) => string>> = {
  "emptydirfs.limit": (volume) => `its volume ${volume}`,
  "ephemeralpodfs.limit": () => "it",
  "ephemeralcontainerfs.limit": (container) => `its container ${container}`,
};

const RECLAIMED: Readonly<Record<string, string>> = {
  containers: "containers that had ended",
  images: "images that nothing used",
};

const SANDBOX_FAULTS: Readonly<Record<string, string>> = {
  "no sandbox": "it has none",
  "several ready sandboxes": "it had more than one",
  "sandbox not ready": "the one it had does not run any more",
  "sandbox has no address": "the one it had got no address",
  "network mode changed": "it uses another network than before",
};

const KILL_REASONS: Readonly<Record<string, string>> = {
  "liveness probe failed": "its liveness probe failed too often",
  "startup probe failed": "its startup probe did not succeed in time",
  "definition changed": "its definition has changed",
  "resize requires restart": "its new resources need a restart",
  "state unknown": "the runtime does not know its state",
  "pod deleted": "nobody wants the pod any more",
  "pod completed": "the pod is done",
  "pod orphaned": "no manifest names the pod",
  "pod rejected": "the pod may not run here",
  "pod evicted": "the node needs what the pod uses",
};

const RELEASE_CAUSES: Readonly<Record<string, string>> = {
  deleted: "its manifest was taken away",
  completed: "it was done",
  orphaned: "no manifest named it",
  rejected: "it was refused",
  evicted: "it was evicted",
  removed: "its manifest was taken away",
};

/** A word or two for a kind of decision; kinds of other versions stand for themselves. */
export function storyTitle(kind: string): string {
  return Object.hasOwn(TITLES, kind) ? TITLES[kind as DecisionKind] : kind;
}

/** One decision as a sentence. Records of other versions are told by their rule and inputs. */
export function tellDecision({ kind, rule, inputs }: DecisionRecord): string {
  if (!Object.hasOwn(SENTENCES, kind)) return `${rule} ${JSON.stringify(inputs)}`;
  // The journal keeps what `decided` was given for this kind.
  const tell = SENTENCES[kind] as Tell<DecisionKind>;
  return oneLine(tell(inputs as unknown as DecisionInputs[DecisionKind], rule));
}

/** The decisions as steps, oldest first. */
export function storyOf(decisions: readonly DecisionRecord[]): readonly StoryStep[] {
  const steps: StoryStep[] = [];
  for (const record of decisions) {
    const { atMs, kind, subject } = record;
    const text = tellDecision(record);
    const last = steps.at(-1);
    if (last?.kind === kind && last.text === text && last.uid === subject.uid)
      steps[steps.length - 1] = { ...last, atMs, times: last.times + 1 };
    else steps.push({ atMs, kind, text, times: 1, uid: subject.uid });
  }
  return steps;
}

function evictionSentence(inputs: DecisionInputs["evictPod"], rule: string): string {
  const { signal, resource, kind, threshold, available, used, requested, priority, pods } = inputs;
  const { graceSeconds, passedOver, next, savedByRequest, savedByPriority } = inputs;
  const usage = used === undefined ? "nothing of it could be measured" : `it used ${used}`;
  const request = ["memory", "ephemeral-storage"].includes(resource)
    ? ` and requested ${requested}`
    : "";
  const saved = [
    savedByRequest === undefined ? "" : `a request of ${savedByRequest}`,
    savedByPriority === undefined ? "" : `a priority of ${savedByPriority}`,
  ].filter((text) => text !== "");
  return [
    `The pod is evicted, with ${counted(graceSeconds, "second")} to finish: ${available} of ${signal} were left, less than the ${kind} threshold ${threshold}.`,
    `Of ${counted(pods, "pod")} it was the first that may go (${rule}): ${usage}${request}, its priority is ${priority}.`,
    passedOver.length === 0 ? "" : `Before it stood, and may not go: ${listed(passedOver)}.`,
    next.length === 0 ? "" : `After it came: ${listed(next)}.`,
    saved.length === 0 ? "" : `Another pod would have gone with ${saved.join(" or ")}.`,
  ]
    .filter((text) => text !== "")
    .join(" ");
}

function startSentence(
  { container, restartCount, lastExitCode, policy }: DecisionInputs["startContainer"],
  rule: string,
): string {
  if (restartCount === 0) return `${container} is started for the first time.`;
  const again = `${container} is started again (restart ${restartCount})`;
  if (lastExitCode !== undefined) {
    const why = rule.startsWith("restartPolicyRules") ? rule : `restartPolicy ${policy} wants it`;
    return `${again}: it ended with code ${lastExitCode}, and ${why}.`;
  }
  return `${again}: ${rule}.`;
}

function killReason(rule: string, detail: string, container: string): string {
  const known = KILL_REASONS[rule];
  if (known !== undefined) return known;
  const said = oneLine(detail).replace(/\.$/, "");
  return said === "" || said === `Stopping container ${container}` ? rule : said;
}

/** Names shown one by one; of more than that only how many there are. */
const MAX_NAMES = 8;

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const rest = names.length - MAX_NAMES;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

/** The text with exactly one full stop. */
function sentence(text: string): string {
  return `${oneLine(text).replace(/\.+$/, "")}.`;
}

function short(uid: string): string {
  return uid.length > 8 ? `${uid.slice(0, 8)}…` : uid;
}
