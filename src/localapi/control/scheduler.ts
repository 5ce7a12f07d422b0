/** Binds pods to the node, or reports why it cannot. */
import type { EventText } from "../../api/event-text.ts";
import type {
  DeviceClass,
  Node,
  PersistentVolumeClaim,
  Pod,
  ResourceSlice,
} from "../../api/generated/types.ts";
import { usesClaims } from "../../api/pod-claims.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import { type Stored, storedAs } from "../api-object.ts";
import { type PodClaims, planPodClaims, type StoredClaim } from "../devices/claims-of-pod.ts";
import {
  CLAIMS,
  DEVICE_CLASS_KIND,
  NODE_KIND,
  POD_KIND,
  RESOURCE_CLAIM_KIND,
  RESOURCE_SLICE_KIND,
} from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { bindPod } from "../serve/subresources.ts";
import { choosePlacement, type Placement } from "./choose-node.ts";
import { claimObstacle } from "./claims/plan-claims.ts";
import { type Controller, ownRequest, stepsForEach } from "./controllers.ts";
import { noteEvent } from "./note-event.ts";

const EVERY_MS = 30_000;
const SCHEDULER = "default-scheduler";

/** See the head of this file. */
export function schedulingController(core: ObjectsCore): Controller {
  const { store } = core;
  return {
    name: "local API: scheduler",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(POD_KIND.collection), (object) => {
        const pod = storedAs<Pod>(object);
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

type Nowhere = Extract<Placement, { kind: "nowhere" }>;

/** Where the pod is to run, with its resource claims as they are to be written before it is bound. */
type Decision =
  | Nowhere
  | (Extract<Placement, { kind: "node" }> & { readonly claims: readonly StoredClaim[] });

/** Chooses a node; none while the pod waits for claims. */
function placementOf(core: ObjectsCore, pod: Stored<Pod>): Decision {
  const claims = core.store.list(CLAIMS.collection).map(storedAs<PersistentVolumeClaim>);
  const candidates = candidatesOf(core);
  const waits = claimObstacle(pod, claims);
  if (waits !== undefined) return nowhere(candidates.length, waits);
  const placement = choosePlacement(pod, candidates);
  if (placement.kind === "nowhere") return placement;
  const devices = podClaims(core, pod, placement.name);
  return devices.kind === "waits"
    ? nowhere(candidates.length, devices.why)
    : { ...placement, claims: devices.writes };
}

const nowhere = (count: number, why: string): Nowhere => ({
  kind: "nowhere",
  why: `0/${count} nodes are available: ${why}.`,
});

/** What is to be written of its resource claims before the pod is bound to the node. */
function podClaims({ store }: ObjectsCore, pod: Stored<Pod>, nodeName: string): PodClaims {
  if (!usesClaims(pod)) return { kind: "ready", writes: [] };
  return planPodClaims(pod, {
    claims: store.list(RESOURCE_CLAIM_KIND.collection).map((each) => each as StoredClaim),
    classes: store.list(DEVICE_CLASS_KIND.collection).map(storedAs<DeviceClass>),
    slices: store.list(RESOURCE_SLICE_KIND.collection).map(storedAs<ResourceSlice>),
    nodeName,
  });
}

function stepsFor(core: ObjectsCore, pod: Stored<Pod>): readonly (() => void)[] {
  const step = () => {
    const { namespace = "", name } = pod.metadata;
    const placement = placementOf(core, pod);
    const request = ownRequest(POD_KIND, namespace, name);
    if (placement.kind === "node") {
      for (const claim of placement.claims) core.store.put(RESOURCE_CLAIM_KIND.collection, claim);
      bindPod(core, request, { target: { kind: "Node", name: placement.name } });
      note(core, pod, {
        type: "Normal",
        reason: "Scheduled",
        message: `Successfully assigned ${namespace}/${name} to ${placement.name}`,
      });
    } else reportUnschedulable(core, pod, placement.why);
  };
  const placement = placementOf(core, pod);
  return placement.kind === "nowhere" && isReported(pod, placement.why) ? [] : [step];
}

function candidatesOf({ store }: ObjectsCore) {
  const nodes = store.list(NODE_KIND.collection).map(storedAs<Node>);
  const pods = store.list(POD_KIND.collection).map(storedAs<Pod>);
  return nodes.map((node) => ({
    node,
    pods: pods.filter(({ spec }) => spec?.nodeName === node.metadata.name),
  }));
}

function isReported({ status }: Pod, why: string): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return condition?.status === "False" && condition.message === why;
}

function reportUnschedulable(core: ObjectsCore, pod: Stored<Pod>, why: string): void {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== "PodScheduled");
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: why,
    lastProbeTime: null,
    lastTransitionTime: rfc3339(core.clock.wall()),
  };
  core.store.put(POD_KIND.collection, {
    ...pod,
    status: { ...pod.status, conditions: [...others, condition] },
  });
  note(core, pod, { type: "Warning", reason: "FailedScheduling", message: why });
}

/** An event as the scheduler of a cluster writes it. */
function note(core: ObjectsCore, pod: Stored<Pod>, text: EventText): void {
  noteEvent(core, pod, { ...text, component: SCHEDULER });
}
