import { expandVariables } from "../../../api/env/expand.ts";
import type { Container, ExecAction } from "../../../api/generated/types.ts";
import { formatDuration } from "../../../api/text/duration.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { withTimeout } from "../../../kit/within.ts";
import type { ExecResult, RuntimeService } from "../../../outside/cri/cri.ts";
import { MAX_OUTPUT_BYTES, type ProbeOutcome, type ProbeRequest } from "../outcome.ts";
import type { Cleared, ExecGuard, GuardedExec } from "./exec-guard.ts";

/** The runtime and the clock that exec probes use. */
export interface ExecPorts {
  readonly runtime: Pick<RuntimeService, "execSync" | "version">;
  readonly clock: Clock;
  /** Ends what a command leaves behind when its time is over; without it that goes on. */
  readonly guard?: ExecGuard;
}

/** Seconds that the runtime has more than we: it takes over where we cannot end the command ourselves. */
const RUNTIME_SLACK_SECONDS = 1;

/** Runs the command in the container; exit status 0 is success. */
export async function probeExec(
  ports: ExecPorts,
  action: ExecAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const command = expandCommand(action.command ?? [], request.container);
  const guard = request.endLeftovers ? ports.guard : undefined;
  const left = (await guard?.stuck(request)) ?? [];
  if (left.length > 0) return timedOut(command, request, { killed: 0, left, uncollected: 0 });
  try {
    const end = await runBounded({ ...ports, guard }, request, command, signal);
    if (end.kind === "cleared") return timedOut(command, request, end);
    if (end.kind === "unanswered") return { kind: "error", message: UNANSWERED, final: true };
    const { result } = end;
    const output = combined(result.stdout, result.stderr);
    return result.exitCode === 0
      ? { kind: "success", output }
      : { kind: "failure", output: output || endText(result.exitCode), timedOut: false };
  } catch (error) {
    if (signal.aborted) throw error;
    // More output than the runtime can hand over: what was too much once is so again.
    const final = isOutside(error, "exhausted") ? { final: true as const } : {};
    return { kind: "error", message: messageOf(error), ...final };
  }
}

type ExecEnd =
  | { readonly kind: "ended"; readonly result: ExecResult }
  | ({ readonly kind: "cleared" } & Cleared)
  /** The command gave no output, and the runtime does not answer other requests either. */
  | { readonly kind: "unanswered" };

const UNANSWERED = "the container runtime does not answer: it is not known whether the command ran";
/** Time limit for asking the runtime's version: a healthy runtime needs a small part of it. */
const ANSWER_MS = 5_000;

/** Message for a command without output, for which the Go kubelet has none. */
function endText(exitCode: number): string {
  return `the command ended with code ${exitCode} and without output`;
}

type BoundPorts = Omit<ExecPorts, "guard"> & { readonly guard: ExecGuard | undefined };

/** Runs the command until it ends or its time is over, ours or the runtime's. */
async function runBounded(
  { runtime, clock, guard }: BoundPorts,
  { owner, podUid, containerId, timeoutMs }: ProbeRequest,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ExecEnd> {
  const guarded = { owner, podUid, containerId, command, sinceTicks: guard?.nowTicks() ?? 0 };
  const slackSeconds = guard ? RUNTIME_SLACK_SECONDS : 0;
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000)) + slackSeconds;
  const call = new AbortController();
  const onAbort = () => call.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const over = deadline({ runtime, clock, guard }, guarded, timeoutMs);
  const running = runtime.execSync(containerId, command, seconds, call.signal);
  // It may fail after the caller stopped waiting.
  running.catch(() => {});
  const cutOff = () => call.abort(new Error("the probe's time is over"));
  try {
    const result = await Promise.race([running, over.passed]).catch((error: unknown) => {
      if (isOutside(error, "deadline")) return "unseen" as const;
      throw error;
    });
    if (typeof result === "object") return { kind: "ended", result };
    signal.throwIfAborted();
    if (
      result === "unanswered" ||
      (result === "unseen" && !(await answers({ runtime, clock }, signal)))
    ) {
      cutOff();
      return { kind: "unanswered" };
    }
    if (guard) return { kind: "cleared", ...(await guard.clear(guarded, cutOff, signal)) };
    cutOff();
    return { kind: "cleared", killed: 0, left: [], uncollected: 0 };
  } finally {
    over.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Whether the runtime answers at all. One that does not (stopped, or without a disk) fails no container's probes. */
async function answers(
  { runtime, clock }: Pick<BoundPorts, "runtime" | "clock">,
  signal: AbortSignal,
): Promise<boolean> {
  const timeout = { clock, ms: ANSWER_MS };
  try {
    const ended = await withTimeout(timeout, signal, (own) => runtime.version(own));
    return ended.kind === "done";
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/**
 * Longest time that a runtime may take to start the command; after that the command counts as timed out. It is the default of
 * runtimeRequestTimeout, for which the Go kubelet waits: an overloaded machine takes a while.
 */
const MAX_START_MS = 120_000;
/** When a command has not started for so long, check less often for it, and ask the runtime at this interval whether it answers at all. */
export const LONG_START_MS = 10_000;
/** Pauses between checks whether the command runs. */
const START_PAUSE_MS = 100;
const LONG_START_PAUSE_MS = 1_000;

/** How the time of a command ended: it ran, it was not seen running, or the runtime does not answer. */
type Passed = "ran" | "unseen" | "unanswered";

/**
 * Resolves when the command has had its time, and says whether it was seen running. The time counts from when it runs,
 * as with containerd: what a busy machine takes to start it is not the container's fault. Without a guard the runtime
 * measures it, in whole seconds.
 */
function deadline(ports: BoundPorts, exec: GuardedExec, timeoutMs: number) {
  const { clock, guard } = ports;
  const done = new AbortController();
  const { signal } = done;
  const hasPassed = async (): Promise<Passed> => {
    await clock.sleep(timeoutMs, signal);
    if (!guard && timeoutMs % 1000 !== 0) return "unseen";
    const beganAt = clock.monotonic();
    let askAt = beganAt + LONG_START_MS;
    for (let now = beganAt; now < beganAt + MAX_START_MS; now = clock.monotonic()) {
      const ranMs = await guard?.ranMs(exec);
      if (ranMs !== undefined) {
        if (ranMs < timeoutMs) await clock.sleep(timeoutMs - ranMs, signal);
        return "ran";
      }
      if (now >= askAt) {
        if (!(await answers(ports, signal))) return "unanswered";
        askAt = clock.monotonic() + LONG_START_MS;
      }
      const isLong = now >= beganAt + LONG_START_MS;
      await clock.sleep(isLong ? LONG_START_PAUSE_MS : START_PAUSE_MS, signal);
    }
    return "unseen";
  };
  const passed = hasPassed();
  // When the command ends in time this is not awaited.
  passed.catch(() => {});
  return { passed, cancel: () => done.abort(new Error("the command has ended")) };
}

function timedOut(
  command: readonly string[],
  { timeoutMs }: ProbeRequest,
  { killed, left, uncollected }: Cleared,
): ProbeOutcome {
  const stuck =
    left.length > 0 ? `; cannot be ended: process ${left.map(({ pid }) => pid).join(", ")}` : "";
  const output = `command timed out: ${JSON.stringify(command.join(" "))} timed out after ${formatDuration(timeoutMs)}${stuck}`;
  return {
    kind: "failure",
    output,
    timedOut: true,
    ...(killed > 0 ? { killed } : {}),
    ...(uncollected > 0 ? { uncollected } : {}),
  };
}

/** `$(NAME)` by values that stand in the spec itself; those that come from elsewhere are empty here. */
export function expandCommand(command: readonly string[], container: Container): readonly string[] {
  const values = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? ""]));
  return command.map((part) => expandVariables(part, (name) => values.get(name)));
}

function combined(stdout: Uint8Array, stderr: Uint8Array): string {
  const kept = new Uint8Array(Math.min(stdout.length + stderr.length, MAX_OUTPUT_BYTES));
  const first = stdout.subarray(0, kept.length);
  kept.set(first);
  kept.set(stderr.subarray(0, kept.length - first.length), first.length);
  return new TextDecoder().decode(kept);
}
