// pure
import { podPaths } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { dottedSysctl } from "../../api/validation/security.ts";
import type { DeepPartial, PodSandboxConfig } from "../../outside/cri/cri.ts";
import {
  type LinuxContainerResources,
  Protocol,
  type UserNamespace,
} from "../../outside/cri/generated/api.ts";
import { defaultSysctls } from "./default-sysctls.ts";
import { sandboxLabels } from "./labels.ts";
import { sandboxSecurity } from "./security/security-context.ts";

/** The resolver a pod gets. */
export interface PodDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Sums that a runtime sizes a sandbox by: of the containers, and of what the sandbox itself costs. */
export interface SandboxSums {
  readonly resources: DeepPartial<LinuxContainerResources>;
  readonly overhead: DeepPartial<LinuxContainerResources>;
}

interface SandboxParts extends SandboxSums {
  readonly attempt: number;
  readonly roots: { readonly root: string; readonly logs: string };
  /** Kernel settings of every pod that does not share their namespace with the machine. */
  readonly defaultSysctls: Readonly<Record<string, string>>;
  /** Literal path of the pod's cgroup for the runtime. */
  readonly cgroupParent: string;
  readonly dns: PodDns;
  readonly hostname: string;
  /** Ids of the pod's own, where it has them. */
  readonly userNamespace: DeepPartial<UserNamespace> | undefined;
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};

/** The sandbox of a pod as the Go kubelet asks for it (kuberuntime_sandbox.go generatePodSandboxConfig). */
export function sandboxConfig(
  pod: IdentifiedPod,
  parts: SandboxParts,
): DeepPartial<PodSandboxConfig> {
  const { name, namespace, uid } = pod.metadata;
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
      securityContext: sandboxSecurity(pod, parts.userNamespace),
      resources: parts.resources,
      overhead: parts.overhead,
      sysctls: Object.fromEntries([
        ...defaultSysctls(parts.defaultSysctls, pod.spec),
        // Of two spellings of one name the last counts; a runtime would set them in an order of its own.
        ...(pod.spec?.securityContext?.sysctls ?? []).map(
          ({ name, value }) => [dottedSysctl(name), value] as const,
        ),
      ]),
    },
  };
}

function portMappings(
  pod: IdentifiedPod,
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
