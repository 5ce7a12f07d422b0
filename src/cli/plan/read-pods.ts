// pure
import { decodePodDocument } from "../../api/decode/decode.ts";
import { formatProblems } from "../../api/decode/field-problem.ts";
import type { Pod } from "../../api/generated/types.ts";
import { SYSTEM_CRITICAL_PRIORITY } from "../../api/pod/pod.ts";
import { defaultPod } from "../../api/pod/pod-defaults.ts";
import { staticPodUid } from "../../api/pod/pod-keys.ts";
import { withPodLevelDefaults } from "../../api/pod/resource-defaults.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import { parseYaml } from "../../api/text/yaml.ts";
import { podUidProblems } from "../../api/validation/pod-names.ts";
import { validatePod } from "../../api/validation/validation.ts";
import { UsageError } from "../../kit/errors.ts";

/** Pods that are planned at once. */
const MAX_PODS = 1000;

/** Priorities that the API server knows by the names of their classes. */
const CRITICAL: Readonly<Record<string, number>> = {
  "system-node-critical": SYSTEM_CRITICAL_PRIORITY + 1000,
  "system-cluster-critical": SYSTEM_CRITICAL_PRIORITY,
};

/** A file of pods. */
interface PodFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The pods of a file, YAML or JSON, several documents and lists allowed: decoded strictly, defaulted and
 * validated as the API server would. A pod without a uid gets one from its content. `UsageError` that
 * names the file, with all that is wrong with a pod.
 */
export function readPodFile({ path, text }: PodFile, nodeName: string): readonly Pod[] {
  try {
    const pods = parseYaml(text, { maxDocuments: MAX_PODS }).flatMap(({ value }) => {
      const { pods: decoded, problems } = decodePodDocument(value);
      if (problems.length > 0) throw new UsageError(formatProblems(problems));
      return decoded;
    });
    if (pods.length === 0) throw new UsageError("contains no pods");
    return pods.map((pod) => completePod(pod, path, nodeName));
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw new UsageError(`${path}: ${thrown.message}`, { cause: thrown });
  }
}

function completePod(decoded: Pod, path: string, nodeName: string): Pod {
  const defaulted = withPodLevelDefaults(defaultPod(decoded));
  const { metadata, spec } = defaulted;
  const critical = CRITICAL[spec?.priorityClassName ?? ""];
  const pod: Pod = {
    ...defaulted,
    metadata: {
      ...metadata,
      namespace: metadata?.namespace || "default",
      uid: metadata?.uid || staticPodUid(defaulted, nodeName, { kind: "file", path }),
    },
    ...(spec && critical !== undefined && spec.priority === undefined
      ? { spec: { ...spec, priority: critical } }
      : {}),
  };
  const problems = [...podUidProblems(identifyPod(pod)), ...validatePod(pod)];
  if (problems.length > 0) throw new UsageError(formatProblems(problems));
  return pod;
}
