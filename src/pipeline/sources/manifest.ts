// pure
import { decodePodDocument } from "../../api/decode/decode.ts";
import { formatProblems } from "../../api/decode/field-problem.ts";
import type { Pod } from "../../api/generated/types.ts";
import { defaultPod } from "../../api/pod/pod-defaults.ts";
import { computeQosClass } from "../../api/pod/qos.ts";
import { podLevelResources } from "../../api/pod/resource-defaults.ts";
import { bindStaticPod } from "../../api/pod/static-pod.ts";
import { shownUrl } from "../../api/text/shown-url.ts";
import { parseYaml } from "../../api/text/yaml.ts";
import { podUidProblems } from "../../api/validation/pod-names.ts";
import { staticPodProblems } from "../../api/validation/static-pod-references.ts";
import { type PodValidationOptions, validatePod } from "../../api/validation/validation.ts";
import { UsageError } from "../../kit/errors.ts";
import type { SourcedPod, SourceKind } from "./merge.ts";

/** Result of reading a manifest: all of its pods, or the reason why none of them can be used. */
export type ManifestRead =
  | { readonly kind: "pods"; readonly pods: readonly SourcedPod[] }
  | { readonly kind: "refused"; readonly message: string };

/** Reads the text of one manifest; never throws for what it holds. */
export type ReadManifest = (text: string, source: SourceKind, origin: string) => ManifestRead;

/** What depends on feature gates. */
export interface ManifestRules extends PodValidationOptions {
  /** Whether pod-level requests are filled in, as before the gate PodLevelResourcesFixDefaulting. Default false. */
  readonly fillsPodResources?: boolean;
  /** Whether empty pod-level resources decide the class, as before PodLevelResourcesFixKubeletQOSClass. Default false. */
  readonly countsEmptyPodResources?: boolean;
}

/** Pods one manifest may hold. */
const MAX_PODS = 250;

/**
 * Turns the text of a manifest into static pods: decoded strictly, defaulted, validated, named after the
 * node. Never throws for what the text holds.
 */
export function manifestReader(
  nodeName: string,
  seen: () => string,
  rules: ManifestRules = {},
): ReadManifest {
  return (text, source, origin) => {
    try {
      const documents = parseYaml(text, { maxDocuments: MAX_PODS });
      // An empty list says that there are none; a text without a document says nothing.
      if (documents.length === 0) return { kind: "refused", message: "contains no pods" };
      const pods = documents.flatMap(({ value }) => {
        const { pods: decoded, problems } = decodePodDocument(value);
        if (problems.length > 0) throw new UsageError(formatProblems(problems));
        return decoded;
      });
      if (pods.length > MAX_PODS)
        return { kind: "refused", message: `contains more than ${MAX_PODS} pods` };
      return {
        kind: "pods",
        pods: pods.map((pod) => staticPod(pod, { nodeName, source, origin, seen: seen(), rules })),
      };
    } catch (error) {
      if (error instanceof UsageError) return { kind: "refused", message: error.message };
      throw error;
    }
  };
}

interface Binding {
  readonly nodeName: string;
  readonly source: SourceKind;
  readonly origin: string;
  readonly seen: string;
  readonly rules: ManifestRules;
}

function staticPod(decoded: Pod, { nodeName, source, origin, seen, rules }: Binding): SourcedPod {
  const place =
    source === "file"
      ? ({ kind: "file", path: origin } as const)
      : ({ kind: "url", url: origin } as const);
  const manifest = completed(decoded, rules);
  const bound = bindStaticPod(manifest, { nodeName, origin: place, seen });
  const { countsEmptyPodResources = false } = rules;
  // The class of a static pod is computed wherever it is asked for, unless it has one.
  const pod = countsEmptyPodResources
    ? { ...bound, status: { ...bound.status, qosClass: computeQosClass(bound, rules) } }
    : bound;
  const problems = [...podUidProblems(pod), ...validatePod(pod, rules), ...staticPodProblems(pod)];
  if (problems.length > 0) throw new UsageError(formatProblems(problems));
  const shown = source === "file" ? origin : shownUrl(origin);
  return { uid: pod.metadata.uid, pod, source, origin: shown };
}

function completed(decoded: Pod, { fillsPodResources = false }: ManifestRules): Pod {
  const pod = defaultPod(decoded);
  const { spec } = pod;
  const resources = fillsPodResources ? podLevelResources(pod) : undefined;
  return spec && resources ? { ...pod, spec: { ...spec, resources } } : pod;
}
