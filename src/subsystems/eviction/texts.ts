// pure
import type { Container } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { goQuote } from "../../api/text/go-quote.ts";
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityFromBytes,
} from "../../api/text/quantity.ts";
import { amountText, type SignalObservations } from "./observations.ts";
import { SIGNAL_FACTS, type StarvedResource } from "./signals.ts";
import { type Threshold, thresholdText } from "./thresholds.ts";
import { type CandidatePod, type ContainerUsage, type PodUsage, workingSetOf } from "./usage.ts";

/** Texts of an eviction: in status, condition and event, and beside the event. */
export interface EvictionTexts {
  readonly message: string;
  /** Annotations of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Message of the event on the node before anything is taken back. */
export const reclaimingText = (resource: StarvedResource): string =>
  `Attempting to reclaim ${resource}`;

/** Message of a pod whose emptyDir outgrew its limit. */
export const emptyDirText = (volume: string, limit: string): string =>
  `Usage of EmptyDir volume ${goQuote(volume)} exceeds the limit ${goQuote(limit)}. `;

/** Message of a pod that outgrew the limits of its containers together. */
export const podStorageText = (limit: string): string =>
  `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;

/** Message of a pod of which one container outgrew its limit. */
export const containerStorageText = (container: string, limit: string): string =>
  `Container ${container} exceeded its local ephemeral storage limit ${goQuote(limit)}. `;

interface PressureFacts {
  readonly resource: StarvedResource;
  /** The thresholds that drive the eviction, in their order. */
  readonly thresholds: readonly Threshold[];
  readonly observations: SignalObservations;
}

/** Texts of a pod that is evicted for pressure (helpers.go evictionMessage). */
export function pressureTexts({ pod, usage }: CandidatePod, facts: PressureFacts): EvictionTexts {
  const { resource } = facts;
  const opening = `The node was low on resource: ${resource}. ${metText(facts)}`;
  if (!usage) return { message: opening, annotations: {} };
  const ofPod = resource === "memory" ? podOffence(pod, usage) : undefined;
  const offenders = usage.containers.flatMap((used) => containerOffence(pod, used, resource));
  return {
    message: [opening, ofPod?.text ?? "", ...offenders.map(({ text }) => text)].join(""),
    annotations: {
      ...(ofPod ? { offending_pod: pod.metadata.name, offending_pod_usage: ofPod.usage } : {}),
      offending_containers: offenders.map(({ name }) => name).join(","),
      offending_containers_usage: offenders.map(({ usage: used }) => used).join(","),
      starved_resource: resource,
    },
  };
}

/** The first of the thresholds that is about the resource. */
function metText({ resource, thresholds, observations }: PressureFacts): string {
  for (const threshold of thresholds) {
    const observed = observations.get(threshold.signal);
    if (SIGNAL_FACTS[threshold.signal].resource !== resource || !observed) continue;
    const available = amountText(threshold.signal, observed.available);
    return `Threshold quantity: ${thresholdText(threshold, observed)}, available: ${available}. `;
  }
  return "";
}

interface Offence {
  readonly name: string;
  readonly usage: string;
  readonly text: string;
}

/** Of every pod that has resources of its own, whether it uses more than it requests or not. */
function podOffence(pod: IdentifiedPod, usage: PodUsage): Offence | undefined {
  const used = workingSetOf(usage);
  const request = pod.spec?.resources?.requests?.["memory"];
  if (request === undefined || used === undefined) return undefined;
  const name = pod.metadata.name;
  return offence("Pod", { name, request, used, resource: "memory" });
}

/** Of regular and init containers only: ephemeral ones can request nothing. */
function containerOffence(
  { spec }: IdentifiedPod,
  used: ContainerUsage,
  resource: StarvedResource,
): readonly Offence[] {
  const containers: readonly Container[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
  ];
  const container = containers.find(({ name }) => name === used.name);
  const bytes = containerUse(used, resource);
  if (!container || bytes === undefined) return [];
  const request = container.resources?.requests?.[resource] ?? "0";
  if (compareQuantities(quantityFromBytes(bytes), parseQuantity(request)) <= 0) return [];
  return [offence("Container", { name: container.name, request, used: bytes, resource })];
}

function containerUse(container: ContainerUsage, resource: StarvedResource): number | undefined {
  const { rootfs, logs } = container;
  if (resource === "memory") return workingSetOf(container);
  if (resource !== "ephemeral-storage") return undefined;
  const [layer, written] = [rootfs?.usedBytes, logs?.usedBytes];
  return layer === undefined || written === undefined ? undefined : layer + written;
}

function offence(
  what: "Pod" | "Container",
  of: { readonly name: string; readonly request: string; readonly used: number } & {
    readonly resource: StarvedResource;
  },
): Offence {
  const { name, request, used, resource } = of;
  const usage = formatQuantity(quantityFromBytes(used));
  const requested = formatQuantity(parseQuantity(request));
  return {
    name,
    usage,
    text: `${what} ${name} was using ${usage}, request is ${requested}, has larger consumption of ${resource}. `,
  };
}
