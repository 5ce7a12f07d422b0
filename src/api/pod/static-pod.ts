// pure
import type { Pod, Toleration } from "../generated/types.ts";
import type { PodUid } from "../observation.ts";
import type { IdentifiedPod } from "../pod-identity.ts";
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  NODE_CRITICAL_CLASS,
} from "./pod.ts";
import { type StaticPodOrigin, staticPodUid } from "./pod-keys.ts";

interface StaticPodContext {
  readonly nodeName: string;
  readonly origin: StaticPodOrigin;
  /** When the agent read it, RFC 3339 with nanoseconds. */
  readonly seen: string;
}

const DEFAULT_NAMESPACE = "default";

/** Static pods from files stay when the node gets a `NoExecute` taint. */
const STAY_ON_NODE: Toleration = { operator: "Exists", effect: "NoExecute" };

/** Whether a toleration already has the key and effect of `STAY_ON_NODE`, and so would be replaced by it. */
const isSameToleration = ({ key, operator, value, effect }: Toleration): boolean =>
  (key ?? "") === "" && operator === "Exists" && (value ?? "") === "" && effect === "NoExecute";

function withToleration(tolerations: readonly Toleration[] | undefined): readonly Toleration[] {
  const present = tolerations ?? [];
  const at = present.findIndex(isSameToleration);
  return at < 0 ? [...present, STAY_ON_NODE] : present.with(at, STAY_ON_NODE);
}

/** The name a static pod has on its node: unique among nodes that use the same manifest. */
const staticPodName = (name: string, nodeName: string): string =>
  `${name}-${nodeName.toLowerCase()}`;

/**
 * Makes a decoded and defaulted manifest the static pod of this node: UID from its content (unless it
 * brings one), name with the node behind, namespace, node, annotations, phase Pending, and for files the
 * toleration of every `NoExecute` taint. It begins now: a status and a time of creation in the manifest, which may have been
 * saved from an API, are another pod's. The manifest must have a name. Source: kubelet `config/common.go`.
 */
export function bindStaticPod(manifest: Pod, context: StaticPodContext): IdentifiedPod {
  const { nodeName, origin, seen } = context;
  const { spec } = manifest;
  const { creationTimestamp: _, ...metadata } = manifest.metadata ?? {};
  const uid = (metadata.uid || staticPodUid(manifest, nodeName, origin)) as PodUid;
  return {
    ...manifest,
    metadata: {
      ...metadata,
      uid,
      name: staticPodName(metadata.name ?? "", nodeName),
      namespace: metadata.namespace || DEFAULT_NAMESPACE,
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH_ANNOTATION]: uid,
        [CONFIG_SOURCE_ANNOTATION]: origin.kind === "file" ? "file" : "http",
        [CONFIG_SEEN_ANNOTATION]: seen,
      },
    },
    spec: {
      ...spec,
      containers: spec?.containers ?? [],
      nodeName,
      ...(origin.kind === "file" ? { tolerations: withToleration(spec?.tolerations) } : {}),
    },
    // What a manifest that was saved from an API says of another life of the pod is not this one's.
    status: { phase: "Pending" },
  };
}

const NODE_CRITICAL_PRIORITY = 2_000_001_000;

/**
 * What the priority of a static pod leads to where nobody checks it, in the Go kubelet's words; `undefined` where priority
 * and class agree (config/common.go getStaticPodPriorityWarning).
 */
export function staticPriorityWarning({ spec }: Pod): string | undefined {
  const { priority, priorityClassName = "" } = spec ?? {};
  if (priority === undefined)
    return priorityClassName === ""
      ? undefined
      : "Static pod has priorityClassName and nil priority. Kubelet will not use priorityClassName, and mirror pod creation may fail.";
  if (priorityClassName === "")
    return "Static pod has priority without priorityClassName. Mirror pod creation may fail if the default priority class doesn't match the given priority.";
  return priority === NODE_CRITICAL_PRIORITY && priorityClassName === NODE_CRITICAL_CLASS
    ? undefined
    : `Static pod has a priority other than ${NODE_CRITICAL_PRIORITY} or a priorityClassName other than ${NODE_CRITICAL_CLASS}. Mirror pod may be attempted to be evicted from the node ineffectively.`;
}

/**
 * An API pod as this node has seen it: where it comes from and since when is ours to say, whatever it says of
 * itself (kubelet config.go updatePodsFunc).
 */
export function seenFromApi<P extends Pod>(pod: P, seen: string): P {
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: {
        ...pod.metadata?.annotations,
        [CONFIG_SOURCE_ANNOTATION]: "api",
        [CONFIG_SEEN_ANNOTATION]: seen,
      },
    },
  };
}
