// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import { podPaths } from "../../api/pod-paths.ts";
import type { DeepPartial, PodSandboxConfig } from "../../outside/cri/cri.ts";
import {
  NamespaceMode,
  Protocol,
  SecurityProfile_ProfileType,
} from "../../outside/cri/generated/api.ts";
import { sandboxLabels } from "./labels.ts";

/** The resolver a pod gets. */
export interface PodDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface SandboxParts {
  readonly attempt: number;
  readonly roots: { readonly root: string; readonly logs: string };
  /** Literal path of the pod's cgroup for the runtime. */
  readonly cgroupParent: string;
  readonly dns: PodDns;
  readonly hostname: string;
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};

/** The sandbox of a pod as the reference asks for it (kuberuntime_sandbox.go generatePodSandboxConfig). */
export function sandboxConfig(pod: Pod, parts: SandboxParts): DeepPartial<PodSandboxConfig> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const hostNetwork = pod.spec?.hostNetwork === true;
  return {
    metadata: { name, namespace, uid, attempt: parts.attempt },
    hostname: hostNetwork ? "" : parts.hostname,
    logDirectory: podPaths(parts.roots, pod).logs,
    dnsConfig: {
      servers: [...parts.dns.servers],
      searches: [...parts.dns.searches],
      options: [...parts.dns.options],
    },
    portMappings: hostNetwork ? [] : portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: { ...pod.metadata?.annotations },
    linux: {
      cgroupParent: parts.cgroupParent,
      securityContext: {
        namespaceOptions: namespaceOptions(pod),
        privileged: allContainers(pod).some(
          ({ securityContext }) => securityContext?.privileged === true,
        ),
        seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault, localhostRef: "" },
        supplementalGroups: [],
        readonlyRootfs: false,
      },
      sysctls: {},
    },
  };
}

/** Which namespaces of the pod are the node's, the pod's or each container's own. */
export function namespaceOptions(pod: Pod): {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
} {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec ?? {};
  return {
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: hostPID
      ? NamespaceMode.NODE
      : shareProcessNamespace
        ? NamespaceMode.POD
        : NamespaceMode.CONTAINER,
    ipc: hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
  };
}

function allContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

function portMappings(
  pod: Pod,
): { hostPort: number; containerPort: number; protocol: Protocol; hostIp: string }[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === "Always",
  );
  return [...(pod.spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.map((port) => ({
      hostPort: port.hostPort ?? 0,
      containerPort: port.containerPort,
      protocol: PROTOCOLS[port.protocol ?? "TCP"] ?? Protocol.TCP,
      hostIp: port.hostIP ?? "",
    })),
  );
}
