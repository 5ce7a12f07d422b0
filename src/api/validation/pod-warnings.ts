// pure
/**
 * What Kubernetes' API accepts and warns of when a pod is written, with its texts (pkg/api/pod/warnings.go): it is
 * rarely what was meant.
 */
import type { Container, ContainerPort, Pod, PodAffinityTerm } from "../generated/types.ts";
import { allContainers } from "../pod/pod.ts";
import { canonicalQuantity, parseQuantity } from "../text/quantity.ts";

type ResourceList = Readonly<Record<string, string>>;

/** A container with its path. */
interface Placed {
  readonly container: Container;
  readonly path: string;
}

/** All warnings about a pod. */
export function podWarnings(pod: Pod): readonly string[] {
  const placed = placedContainers(pod);
  return [
    ...labelWarnings(pod),
    ...annotationWarnings(pod),
    ...volumeWarnings(pod),
    ...nameWarnings(pod),
    ...fractionalAmounts(pod),
    ...placed.flatMap(envWarnings),
    ...portWarnings(placed),
    ...portNameWarnings(placed),
    ...graceWarnings(pod),
    ...affinityWarnings(pod),
  ];
}

/** Amounts of bytes that are none, such as `128m`, which is 0.128 bytes. */
export function fractionalAmounts(pod: Pod): readonly string[] {
  return [
    ...fractionalOf(pod.spec?.overhead, "spec.overhead"),
    ...fractionalOf(pod.spec?.resources?.limits, "spec.resources.limits"),
    ...fractionalOf(pod.spec?.resources?.requests, "spec.resources.requests"),
    ...placedContainers(pod).flatMap(({ container: { resources }, path }) => [
      ...fractionalOf(resources?.limits, `${path}.resources.limits`),
      ...fractionalOf(resources?.requests, `${path}.resources.requests`),
    ]),
  ];
}

const BYTES = ["memory", "ephemeral-storage"] as const;

function fractionalOf(list: ResourceList | undefined, path: string): readonly string[] {
  return BYTES.flatMap((name) => {
    const text = list?.[name];
    if (text === undefined) return [];
    const quantity = parseQuantity(text);
    const divisor = quantity.exponent < 0 ? 10n ** BigInt(-quantity.exponent) : 1n;
    return quantity.mantissa % divisor === 0n
      ? []
      : [
          `${path}[${name}]: fractional byte value "${canonicalQuantity(quantity)}" is invalid, must be an integer`,
        ];
  });
}

function placedContainers(pod: Pod): readonly Placed[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const place = (list: readonly object[], name: string) =>
    list.map((container, i) => ({
      container: container as Container,
      path: `spec.${name}[${i}]`,
    }));
  return [
    ...place(initContainers, "initContainers"),
    ...place(containers, "containers"),
    ...place(ephemeralContainers, "ephemeralContainers"),
  ];
}

/** Labels of nodes with the one that replaces them; without one there is none. */
const OLD_LABELS: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

function labelWarnings({ spec }: Pod): readonly string[] {
  const warn = (key: string, text: (about: string) => string) =>
    Object.hasOwn(OLD_LABELS, key) ? [text(OLD_LABELS[key] ?? "")] : [];
  return [
    ...Object.keys(spec?.nodeSelector ?? {}).flatMap((key) =>
      warn(key, (about) => `spec.nodeSelector[${key}]: ${about}`),
    ),
    ...(spec?.topologySpreadConstraints ?? []).flatMap(({ topologyKey }, i) =>
      warn(
        topologyKey,
        (about) => `spec.topologySpreadConstraints[${i}].topologyKey: ${topologyKey} is ${about}`,
      ),
    ),
  ];
}

const OLD_ANNOTATIONS: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod":
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls":
    'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls":
    'non-functional in v1.11+; use the "sysctls" field instead',
};
const SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';

function annotationWarnings(pod: Pod): readonly string[] {
  const annotations = pod.metadata?.annotations ?? {};
  const warn = (key: string, text: string) =>
    annotations[key] === undefined ? [] : [`metadata.annotations[${key}]: ${text}`];
  return [
    ...Object.entries(OLD_ANNOTATIONS).flatMap(([key, text]) => warn(key, text)),
    ...(pod.spec?.securityContext?.seccompProfile
      ? []
      : warn("seccomp.security.alpha.kubernetes.io/pod", SECCOMP)),
    ...allContainers(pod).flatMap(({ container: { name, securityContext } }) =>
      securityContext?.seccompProfile
        ? []
        : warn(`container.seccomp.security.alpha.kubernetes.io/${name}`, SECCOMP),
    ),
  ];
}

const OLD_VOLUMES: Readonly<Record<string, string>> = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11, and disabled by default in v1.33+",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
};
/** As the warning spells them. */
const SPELLED: Readonly<Record<string, string>> = { storageos: "storageOS" };

function volumeWarnings({ spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap((volume, i) =>
    Object.keys(volume).flatMap((key) =>
      Object.hasOwn(OLD_VOLUMES, key)
        ? [`spec.volumes[${i}].${SPELLED[key] ?? key}: ${OLD_VOLUMES[key]}`]
        : [],
    ),
  );
}

function nameWarnings({ spec }: Pod): readonly string[] {
  const aliases = (spec?.hostAliases ?? []).map(({ ip }) => ip ?? "");
  const secrets = (spec?.imagePullSecrets ?? []).map(({ name }) => name ?? "");
  const again = (list: readonly string[], text: (value: string, i: number) => string) =>
    list.flatMap((value, i) => (list.indexOf(value) < i ? [text(value, i)] : []));
  return [
    ...again(aliases, (ip, i) => `spec.hostAliases[${i}].ip: duplicate ip "${ip}"`),
    ...again(secrets, (name, i) => `spec.imagePullSecrets[${i}].name: duplicate name "${name}"`),
    ...secrets.flatMap((name, i) =>
      name === "" ? [`spec.imagePullSecrets[${i}].name: invalid empty name ""`] : [],
    ),
  ];
}

/** A variable that is set twice, unless the second value builds upon the first. */
function envWarnings({ container: { env = [] }, path }: Placed): readonly string[] {
  return env.flatMap(({ name, value = "", valueFrom }, i) => {
    if (env.findIndex((each) => each.name === name) === i) return [];
    const reference = `$(${name})`;
    if (!valueFrom && value !== reference && value.includes(reference)) return [];
    return [
      `${path}.env[${i}]: hides previous definition of "${name}", which may be dropped when using apply`,
    ];
  });
}

function portWarnings(placed: readonly Placed[]): readonly string[] {
  const seen: { readonly path: string; readonly port: ContainerPort }[] = [];
  return placed.flatMap(({ container: { ports = [] }, path }) =>
    ports.flatMap((port, i) => {
      const at = `${path}.ports[${i}]`;
      const found = seen.flatMap((other) => {
        const text = overlap(port, other.port);
        return text === undefined ? [] : [`${at}: ${text} port definition with ${other.path}`];
      });
      seen.push({ path: at, port });
      return found;
    }),
  );
}

/** How a port stands in the way of an earlier one; `undefined` where it does not. */
function overlap(port: ContainerPort, other: ContainerPort): string | undefined {
  const protocol = (each: ContainerPort) => each.protocol ?? "TCP";
  if (port.containerPort !== other.containerPort || protocol(port) !== protocol(other))
    return undefined;
  const [ip, otherIp] = [port.hostIP ?? "", other.hostIP ?? ""];
  const [host, otherHost] = [port.hostPort ?? 0, other.hostPort ?? 0];
  if (ip === otherIp && host === otherHost) return "duplicate";
  if (host === 0 || otherHost === 0) return "overlapping";
  return host === otherHost && (ip === "") !== (otherIp === "")
    ? "dangerously ambiguous"
    : undefined;
}

function portNameWarnings(placed: readonly Placed[]): readonly string[] {
  const first = new Map<string, string>();
  return placed.flatMap(({ container: { ports = [] }, path }) =>
    ports.flatMap(({ name = "" }, i) => {
      const at = `${path}.ports[${i}]`;
      if (name === "") return [];
      const other = first.get(name);
      if (other === undefined) first.set(name, at);
      return other === undefined
        ? []
        : [
            `${at}: duplicate port name "${name}" with ${other}, services and probes that select ports by name will use ${other}`,
          ];
    }),
  );
}

function graceWarnings({ spec }: Pod): readonly string[] {
  return (spec?.terminationGracePeriodSeconds ?? 0) < 0
    ? [
        "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
      ]
    : [];
}

const NO_POD = "a null labelSelector results in matching no pod";

function affinityWarnings({ spec }: Pod): readonly string[] {
  const terms = (list: readonly PodAffinityTerm[] | undefined, path: string, inner = "") =>
    (list ?? []).flatMap((term, i) =>
      term.labelSelector ? [] : [`${path}[${i}]${inner}.labelSelector: ${NO_POD}`],
    );
  return [
    ...terms(
      (spec?.topologySpreadConstraints ?? []) as readonly PodAffinityTerm[],
      "spec.topologySpreadConstraints",
    ),
    ...(["podAffinity", "podAntiAffinity"] as const).flatMap((kind) => {
      const affinity = spec?.affinity?.[kind];
      const path = `spec.affinity.${kind}`;
      return [
        ...terms(
          affinity?.requiredDuringSchedulingIgnoredDuringExecution,
          `${path}.requiredDuringSchedulingIgnoredDuringExecution`,
        ),
        ...terms(
          affinity?.preferredDuringSchedulingIgnoredDuringExecution?.map(
            ({ podAffinityTerm }) => podAffinityTerm,
          ),
          `${path}.preferredDuringSchedulingIgnoredDuringExecution`,
          ".podAffinityTerm",
        ),
      ];
    }),
  ];
}
