import { makeDecision } from "../../api/decisions.ts";
import { SHUTDOWN_MESSAGE, SHUTDOWN_REASON } from "../../api/node/node-shutdown.ts";
import type { PodUid } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Publisher } from "../../kit/topic.ts";
import { withTimeout } from "../../kit/within.ts";
import type { PodsView } from "../../pipeline/pods/pods.ts";
import { isReleasable } from "../../pipeline/pods/record/observed.ts";
import type { PodRecord } from "../../pipeline/pods/record/record.ts";
import { untilChanged } from "../until-changed.ts";
import {
  type PodToEnd,
  planShutdown,
  type ShutdownGroup,
  type ShutdownPeriod,
  totalSeconds,
} from "./plan-shutdown.ts";

/** So much before the machine goes down by itself nothing is waited for any more. */
const RELEASE_MS = 500;
/** Exit code of a process that was ended by SIGKILL. */
const KILLED = 137;
/** Pods that a record of the journal names at most; of more it says how many. */
const MAX_NAMED = 100;

export interface EndPodsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly pods: PodsView;
  readonly news: Publisher<PodNews>;
  readonly journal: Pick<Decisions, "record">;
  readonly nodeName: string;
}

/** A pod that has ended: nothing of it runs or is mounted. */
interface EndedPod {
  readonly name: string;
  readonly afterMs: number;
  /** Containers that did not end within their grace. */
  readonly killed: readonly string[];
}

/** How a shutdown went. */
interface ShutdownResult {
  /** Of the pods that have ended. */
  readonly uids: readonly PodUid[];
  readonly ended: number;
  /** Names of the pods that had not ended in time. */
  readonly cutOff: readonly string[];
}

/**
 * Ends the pods of the node, one priority group after the other, within the periods: the next group's turn comes when
 * all of the one before have ended and their volumes are unmounted, or its period is over. What has not ended by then
 * goes on ending, and is waited for at the end where an earlier group has left time.
 */
export async function endPods(
  periods: readonly ShutdownPeriod[],
  deps: EndPodsDeps,
  signal: AbortSignal,
): Promise<ShutdownResult> {
  const { clock, pods, journal, nodeName } = deps;
  const began = clock.monotonic();
  const overAt = began + totalSeconds(periods) * 1000 - RELEASE_MS;
  const groups = planShutdown(periods, activePods(pods));
  const all = groups.flatMap((group) => group.pods);
  const ended = new Map<PodUid, EndedPod>();
  const progress = { ...deps, began, overAt, ended };
  journal.record(
    { kind: "node", name: nodeName },
    makeDecision("startShutdown", "the machine shuts down", {
      pods: all.length,
      totalSeconds: totalSeconds(periods),
      groups: groups.map(
        ({ priority, seconds, pods: of }) => `${priority}: ${of.length} in ${seconds}s`,
      ),
    }),
  );
  for (const group of groups) {
    if (group.pods.length === 0) continue;
    await endGroup(group, progress, signal);
  }
  await untilEnded(all, progress, { ms: Infinity, signal });
  const cutOff = all.filter(({ uid }) => !ended.has(uid)).map(({ name }) => name);
  return { uids: [...ended.keys()], ended: ended.size, cutOff };
}

interface Progress extends EndPodsDeps {
  readonly began: MonotonicMs;
  /** When nothing is waited for any more, monotonic. */
  readonly overAt: number;
  readonly ended: Map<PodUid, EndedPod>;
}

async function endGroup(
  group: ShutdownGroup,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, journal, news, nodeName, ended } = progress;
  const { priority, seconds } = group;
  const startedAt = clock.monotonic();
  log.info("ending pods for the shutdown of the node", {
    priority,
    seconds,
    pods: group.pods.length,
  });
  for (const { uid, name, graceSeconds, priority: own } of group.pods) {
    journal.record(
      { kind: "pod", name, uid },
      makeDecision("shutDownPod", "priority group", {
        graceSeconds,
        priority: own,
        groupPriority: priority,
        periodSeconds: seconds,
      }),
    );
    news.publish({
      kind: "evicted",
      uid,
      reason: SHUTDOWN_REASON,
      message: SHUTDOWN_MESSAGE,
      disruption: SHUTDOWN_MESSAGE,
      graceSeconds,
    });
  }
  await untilEnded(group.pods, progress, { ms: seconds * 1000, signal });
  const done = group.pods.flatMap(({ uid }) => ended.get(uid) ?? []);
  const cutOff = group.pods.filter(({ uid }) => !ended.has(uid)).map(({ name }) => name);
  journal.record(
    { kind: "node", name: nodeName },
    makeDecision("endShutdownGroup", cutOff.length === 0 ? "all have ended" : "its time is over", {
      priority,
      periodSeconds: seconds,
      tookMs: Math.round(clock.monotonic() - startedAt),
      ended: done.slice(0, MAX_NAMED).map(describeEnd),
      cutOff: cutOff.slice(0, MAX_NAMED),
    }),
  );
  if (cutOff.length > 0)
    log.warn("pods have not ended within their period of the shutdown", {
      priority,
      seconds,
      pods: cutOff,
    });
}

/** Waits until all of them have ended, at most so long; notes when each did. */
async function untilEnded(
  pods: readonly PodToEnd[],
  { clock, pods: view, began, overAt, ended }: Progress,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<void> {
  const check = () => {
    for (const { uid, name } of pods) {
      const record = view.get(uid);
      if (ended.has(uid) || (record && !isReleasable(record))) continue;
      const afterMs = Math.round(clock.monotonic() - began);
      ended.set(uid, { name, afterMs, killed: record ? killedOf(record) : [] });
    }
    return pods.every(({ uid }) => ended.has(uid));
  };
  const leftMs = Math.max(0, Math.min(ms, overAt - clock.monotonic()));
  await withTimeout({ clock, ms: leftMs }, signal, (waits) => untilChanged(view, waits, check));
}

function describeEnd({ name, afterMs, killed }: EndedPod): string {
  const force = killed.length === 0 ? "" : `, ${killed.join(" and ")} by force`;
  return `${name} after ${(afterMs / 1000).toFixed(1)}s${force}`;
}

/** Containers whose last process was killed. */
function killedOf({ observed }: PodRecord): readonly string[] {
  const killed = observed.containers.filter(
    ({ state, exitCode, outdated }) =>
      state === "exited" && exitCode === KILLED && outdated !== true,
  );
  return [...new Set(killed.map(({ name }) => name))];
}

/** Pods that have not ended: also those that wait to be admitted, and those that end already. */
function activePods(pods: Pick<PodsView, "list">) {
  return pods
    .list()
    .filter(({ life }) => life.kind !== "terminated" && life.kind !== "released")
    .map(({ pod }) => pod);
}
