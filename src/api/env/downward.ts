// pure
import type { Container, ObjectFieldSelector, ResourceFieldSelector } from "../generated/types.ts";
import { findContainer } from "../pod/pod.ts";
import type { IdentifiedPod } from "../pod-identity.ts";
import { goQuote } from "../text/go-quote.ts";
import { parseQuantity, quantityMilliValue, quantityValue } from "../text/quantity.ts";

/** Value of a selector, or why there is none. */
export type Selected =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "fault"; readonly message: string };

/** Values of the pod that are not in its spec. */
export interface PodPlace {
  readonly nodeName: string;
  /** Addresses of the node, primary first. */
  readonly hostIps: readonly string[];
  /** Addresses of the pod, primary first. */
  readonly podIps: readonly string[];
}

/** Upper limit of a container without limits: the node's allocatable. */
export interface Allocatable {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
}

const text = (value: string): Selected => ({ kind: "text", text: value });
const fault = (message: string): Selected => ({ kind: "fault", message });

const SUBSCRIPT = /^(metadata\.(?:labels|annotations))\['([\s\S]*)'\]$/;

/** A map as lines `key="value"`, sorted by key (fieldpath FormatMap). */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join("\n");
}

/** A field of the pod as files and variables show it (fieldpath ExtractFieldPathAsString). */
export function fieldText(pod: IdentifiedPod, path: string): Selected {
  const { labels, annotations, name, namespace, uid } = pod.metadata;
  const subscript = SUBSCRIPT.exec(path);
  if (subscript) {
    const [, map, key = ""] = subscript;
    return text((map === "metadata.labels" ? labels : annotations)?.[key] ?? "");
  }
  switch (path) {
    case "metadata.annotations":
      return text(formatMap(annotations));
    case "metadata.labels":
      return text(formatMap(labels));
    case "metadata.name":
      return text(name);
    case "metadata.namespace":
      return text(namespace);
    case "metadata.uid":
      return text(uid);
    default:
      return fault(`unsupported fieldPath: ${path}`);
  }
}

/** A field as a variable gets it, which also knows of addresses (kubelet podFieldSelectorRuntimeValue). */
export function envFieldText(
  pod: IdentifiedPod,
  { fieldPath }: Pick<ObjectFieldSelector, "fieldPath">,
  place: PodPlace,
): Selected {
  switch (fieldPath) {
    case "spec.nodeName":
    case "spec.host":
      return text(pod.spec?.nodeName || place.nodeName);
    case "spec.serviceAccountName":
      return text(pod.spec?.serviceAccountName ?? "");
    case "status.hostIP":
      return text(place.hostIps[0] ?? "");
    case "status.hostIPs":
      return text(place.hostIps.join(","));
    case "status.podIP":
      return text(place.podIps[0] ?? "");
    case "status.podIPs":
      return text(place.podIps.join(","));
    default:
      return fieldText(pod, fieldPath);
  }
}

/**
 * A resource of a container in units of the divisor, rounded up. What the container does not limit counts
 * as the pod's own limit, and without one as all that the node can give (resource helpers
 * ExtractContainerResourceValue, kubelet defaultPodLimitsForDownwardAPI). `own` is meant where the selector names no container.
 */
export function resourceText(
  pod: IdentifiedPod,
  selector: ResourceFieldSelector,
  allocatable: Allocatable,
  own?: Container,
): Selected {
  const { containerName = "", resource, divisor } = selector;
  const container = containerName === "" ? own : findContainer(pod, containerName)?.container;
  if (!container) return fault(`container ${containerName} not found`);
  const [side, ...rest] = resource.split(".");
  const name = rest.join(".");
  const isKnown =
    ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
  if (!isKnown || (side !== "limits" && side !== "requests"))
    return fault(`unsupported container resource : ${resource}`);
  const milli = name === "cpu";
  const unit = parseQuantity(!divisor || divisor === "0" ? "1" : divisor);
  const amount =
    side === "limits"
      ? limitOf(container, name) || limitOfPod(pod, name) || allocatableOf(name, allocatable)
      : amountIn(container.resources?.requests, name);
  const step = milli ? quantityMilliValue(unit) : quantityValue(unit);
  return step > 0n ? text(`${(amount + step - 1n) / step}`) : fault(`invalid divisor ${divisor}`);
}

/** Milli for cpu, whole units for the rest. */
function amountIn(list: Readonly<Record<string, string>> | undefined, name: string): bigint {
  const value = list?.[name];
  if (value === undefined) return 0n;
  const quantity = parseQuantity(value);
  return name === "cpu" ? quantityMilliValue(quantity) : quantityValue(quantity);
}

const limitOf = ({ resources }: Container, name: string): bigint =>
  amountIn(resources?.limits, name);

/** Huge pages of the pod are given by size, not by container, and stand for none of them. */
function limitOfPod({ spec }: IdentifiedPod, name: string): bigint {
  return name === "cpu" || name === "memory" ? amountIn(spec?.resources?.limits, name) : 0n;
}

function allocatableOf(name: string, allocatable: Allocatable): bigint {
  switch (name) {
    case "cpu":
      return BigInt(allocatable.cpuMilli);
    case "memory":
      return BigInt(allocatable.memoryBytes);
    case "ephemeral-storage":
      return BigInt(allocatable.ephemeralStorageBytes);
    default:
      return 0n;
  }
}
