/** Port of the pods module for resizing in place, implemented with ledger, rules and subsystems. */

import type { Container, ResourceRequirements } from "../../api/generated/types.ts";
import {
  type ActuatedPod,
  allocationOf,
  isUnsure,
  type ResizeVerdict,
  resizableContainers,
  withAllocation,
  withPodLimits,
} from "../../api/pod/allocation.ts";
import { activePods, type PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Outside } from "../../outside/outside.ts";
import {
  type Cgroups,
  type ResizeOutcome,
  tryUpdateQos,
} from "../../subsystems/cgroups/cgroups.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import { heldBy, type Preempt } from "../admission/admission.ts";
import { judgeResize, orderResizes, type ResizeSettings } from "../admission/judge-resize.ts";
import type { AllocationLedger } from "../admission/ledger.ts";
import type { NodeInfo } from "../admission/rules.ts";
import type { PodResizePort, PodResizeRequest } from "../pods/ports.ts";

type PodRecord = Parameters<PodResizePort["judge"]>[0];

export interface ResizeDeps {
  readonly outside: Outside;
  readonly ledger: AllocationLedger;
  readonly cgroups: Cgroups;
  readonly runtime: Runtime;
  readonly nodeInfo: () => NodeInfo;
  readonly settings: ResizeSettings;
  readonly podFacts: PodFacts;
  readonly preempt: Preempt;
}

const limited = ({ spec }: IdentifiedPod, { resources }: Container): ResourceRequirements =>
  withPodLimits(resources, spec?.resources);

const uidOf = (pod: IdentifiedPod): string => pod.metadata.uid;

/** The port; see `PodResizePort`. */
export function resizePort(deps: ResizeDeps): PodResizePort {
  const { ledger } = deps;
  return {
    asAllocated: (pod) => ledger.asAllocated(pod),
    isAllocated: (uid) => ledger.allocated(uid) !== undefined,
    actuated: (pod) => ledger.actuated(pod),
    admitted: (pod) => ledger.admit(pod),
    forget: (uid) => ledger.forget(uid),
    judge: (candidate, others) => judge(deps, candidate, others),
    order: (waiting) =>
      orderResizes(
        waiting.map((record) => ({
          record,
          desired: record.desired.pod,
          allocated: record.pod,
          ...(record.resize.pending ? { sinceMs: record.resize.pending.sinceMs } : {}),
        })),
      ).map(({ record }) => record),
    allocate: (pod, allocation) => ledger.allocate(pod, allocation),
    prepared: (pod) => ledger.actuateFirst(pod),
    starting: async (pod, name) => {
      const container = resizableContainers(pod).find((each) => each.name === name);
      if (container) await ledger.actuate(pod, name, limited(pod, container));
    },
    apply: (request, signal) => apply(deps, request, signal),
  };
}

/** Others are ended for a critical pod, which is asked again once they have gone; the scheduler may be to decide that instead. */
function judge(
  { ledger, settings, nodeInfo, preempt }: ResizeDeps,
  candidate: PodRecord,
  others: readonly PodRecord[],
): ResizeVerdict {
  const holders = others.map((record) => ({ ...record, pod: heldBy(record, ledger) }));
  const desired = candidate.desired.pod;
  const info = nodeInfo();
  const verdict = judgeResize({
    desired,
    allocated: candidate.pod,
    others: holders.map(({ pod }) => pod),
    nodeInfo: info,
    settings,
  });
  if (verdict.kind === "deferred" && settings.preempts)
    preempt({ ...candidate, pod: desired }, holders, info);
  return verdict;
}

async function apply(
  { outside, ledger, cgroups, runtime, podFacts }: ResizeDeps,
  { pod, actuated, sandboxId, containers }: PodResizeRequest,
  signal: AbortSignal,
): ReturnType<PodResizePort["apply"]> {
  let outcome: ResizeOutcome;
  try {
    if (sandboxId !== undefined) await runtime.updateSandbox(sandboxId, pod, signal);
    await tryUpdateQos(cgroups, activePods(podFacts), outside.log);
    outcome = await cgroups.resizePod({
      from: withAllocation(pod, actuated),
      to: pod,
      updateAll: isUnsure(actuated.group),
      containers,
      updateContainer: (id, resources) => runtime.updateContainer(id, resources, signal),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!isOutside(error)) throw error;
    return { kind: "failed", message: messageOf(error) };
  }
  if (outcome.kind !== "done") return { kind: "failed", message: outcome.message };
  await keep(ledger, pod, actuated, containers);
  return { kind: "done" };
}

/** Containers first: while one of them is behind, the group is taken to be so after a restart too. */
async function keep(
  ledger: AllocationLedger,
  pod: IdentifiedPod,
  { containers: had }: ActuatedPod,
  running: PodResizeRequest["containers"],
): Promise<void> {
  const names = new Set(running.map(({ name }) => name));
  for (const container of resizableContainers(pod)) {
    const { name } = container;
    if (names.has(name) && Object.hasOwn(had, name))
      await ledger.actuate(pod, name, limited(pod, container));
  }
  await ledger.actuateGroup(uidOf(pod), allocationOf(pod));
}
