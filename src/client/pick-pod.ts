// pure
import type { Container, Pod } from "../api/generated/types.ts";
import { allContainers, annotationOf, podDisplayName } from "../api/pod/pod.ts";
import { nearest } from "../api/text/nearest.ts";
import { CliError } from "../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../present/exit-codes.ts";

/** A pod as the user names it. */
export interface PodReference {
  readonly namespace: string;
  readonly name: string;
}

const POD_WORDS = new Set(["pod", "pods", "po"]);

/**
 * Reads `name`, `pod/name` or `namespace/name`; an own `namespace` (of `-n`) goes for names without one.
 */
export function parsePodReference(text: string, namespace: string): PodReference {
  const [first = "", second, ...more] = text.split("/");
  const whole = more.length === 0 && first !== "" && second !== "";
  if (!whole) {
    throw new CliError(`"${text}" names no pod`, {
      exitCode: EXIT_USAGE,
      fix: "write its name, pod/name, or namespace/name",
    });
  }
  if (second === undefined) return { namespace, name: first };
  return POD_WORDS.has(first) ? { namespace, name: second } : { namespace: first, name: second };
}

/**
 * The pod of that name; `undefined` when there is none. The node's name at the end of a static pod's name may be
 * omitted.
 */
export function podNamed(pods: readonly Pod[], { namespace, name }: PodReference): Pod | undefined {
  const here = pods.filter((pod) => pod.metadata?.namespace === namespace);
  return (
    here.find((pod) => pod.metadata?.name === name) ??
    here.find((pod) => pod.metadata?.name === `${name}-${pod.spec?.nodeName ?? ""}`)
  );
}

/** The pod of that name, found as by `podNamed`. Throws `podNotFound` when there is none. */
export function pickPod(pods: readonly Pod[], reference: PodReference): Pod {
  const found = podNamed(pods, reference);
  if (found === undefined) throw podNotFound(pods, reference);
  return found;
}

/** The error for a pod that is not among `pods`, with the name that was probably meant. */
export function podNotFound(pods: readonly Pod[], { namespace, name }: PodReference): CliError {
  const elsewhere = pods.find((pod) => pod.metadata?.name === name);
  const near = nearest(
    name,
    pods
      .filter((pod) => pod.metadata?.namespace === namespace)
      .map((pod) => pod.metadata?.name ?? ""),
  );
  const proposal = elsewhere ? podDisplayName(elsewhere) : near;
  return new CliError(`pod ${name} not found in namespace ${namespace}`, {
    exitCode: EXIT_NOT_FOUND,
    fix:
      proposal === undefined ? "nodelet get pods -A lists all pods" : `did you mean ${proposal}?`,
  });
}

/** Names the container that commands go to when none is named. */
const DEFAULT_CONTAINER_ANNOTATION = "kubectl.kubernetes.io/default-container";

/** The container that was chosen for a command. */
export interface PickedContainer {
  readonly name: string;
  /** The others, when one of several was chosen without being named. */
  readonly others: readonly string[];
}

/** The named container of a pod, or else the one that is meant by default. */
export function pickContainer(pod: Pod, reference: string | undefined): PickedContainer {
  const names = allContainers(pod).map(({ container }) => (container as Container).name);
  if (reference !== undefined) {
    if (names.includes(reference)) return { name: reference, others: [] };
    throw new CliError(`pod ${podDisplayName(pod)} has no container ${reference}`, {
      exitCode: EXIT_NOT_FOUND,
      fix: `it has: ${names.join(", ")}`,
    });
  }
  const regular = (pod.spec?.containers ?? []).map(({ name }) => name);
  const marked = annotationOf(pod, DEFAULT_CONTAINER_ANNOTATION);
  const name = marked !== undefined && names.includes(marked) ? marked : (regular[0] ?? "");
  return { name, others: name === marked ? [] : names.filter((each) => each !== name) };
}
