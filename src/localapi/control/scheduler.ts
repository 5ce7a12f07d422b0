/** Binds pods to the node, or reports why it cannot. */
import type { Node, Pod } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { ApiObject } from "../api-object.ts";
import { EVENTS, NODES, PODS } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { createObject } from "../objects/create.ts";
import { bindPod } from "../serve/subresources.ts";
import { choosePlacement } from "./choose-node.ts";
import { type Controller, ownRequest, stepsForEach } from "./controllers.ts";

const EVERY_MS = 30_000;
const SCHEDULER = "default-scheduler";

/** See the head of this file. */
export function schedulingController(core: ObjectsCore): Controller {
  const { store } = core;
  return {
    name: "local API: scheduler",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(PODS.collection), (object) => {
        const pod = object as unknown as Pod;
        return isWaiting(pod) ? stepsFor(core, pod) : [];
      }),
  };
}

function isWaiting({ spec, metadata, status }: Pod): boolean {
  return (
    (spec?.nodeName ?? "") === "" &&
    spec?.schedulerName === SCHEDULER &&
    (spec.schedulingGates ?? []).length === 0 &&
    metadata?.deletionTimestamp === undefined &&
    (status?.phase ?? "Pending") === "Pending"
  );
}

function stepsFor(core: ObjectsCore, pod: Pod): readonly (() => void)[] {
  const step = () => {
    const { namespace = "", name = "" } = pod.metadata ?? {};
    const placement = choosePlacement(pod, candidatesOf(core));
    const request = ownRequest(PODS, namespace, name);
    if (placement.kind === "node") {
      bindPod(core, request, { target: { kind: "Node", name: placement.name } });
      note(core, pod, {
        type: "Normal",
        reason: "Scheduled",
        message: `Successfully assigned ${namespace}/${name} to ${placement.name}`,
      });
    } else reportUnschedulable(core, pod, placement.why);
  };
  const placement = choosePlacement(pod, candidatesOf(core));
  return placement.kind === "nowhere" && isReported(pod, placement.why) ? [] : [step];
}

function candidatesOf({ store }: ObjectsCore) {
  const nodes = store.list(NODES.collection) as unknown as readonly Node[];
  const pods = store.list(PODS.collection) as unknown as readonly Pod[];
  return nodes.map((node) => ({
    node,
    pods: pods.filter(({ spec }) => spec?.nodeName === node.metadata?.name),
  }));
}

function isReported({ status }: Pod, why: string): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return condition?.status === "False" && condition.message === why;
}

function reportUnschedulable(core: ObjectsCore, pod: Pod, why: string): void {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== "PodScheduled");
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: why,
    lastProbeTime: null,
    lastTransitionTime: rfc3339(core.clock.wall()),
  };
  core.store.put(PODS.collection, {
    ...(pod as unknown as ApiObject),
    status: { ...pod.status, conditions: [...others, condition] },
  });
  note(core, pod, { type: "Warning", reason: "FailedScheduling", message: why });
}

interface Note {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** An event as the scheduler of a cluster writes it. */
function note(core: ObjectsCore, pod: Pod, { type, reason, message }: Note): void {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = pod.metadata ?? {};
  const now = rfc3339(core.clock.wall());
  createObject(core, ownRequest(EVENTS, namespace, ""), {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${core.random.hex(8)}`, namespace },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion },
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component: SCHEDULER },
    reportingComponent: SCHEDULER,
    reportingInstance: "",
  });
}
