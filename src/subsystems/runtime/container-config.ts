// pure

import type { EnvEntry } from "../../api/env/env.ts";
import { expandVariables } from "../../api/env/expand.ts";
import type { Container } from "../../api/generated/types.ts";
import { containerLogFile } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ContainerConfig, DeepPartial } from "../../outside/cri/cri.ts";
import {
  type LinuxContainerResources,
  type Mount,
  NamespaceMode,
} from "../../outside/cri/generated/api.ts";
import { CONTAINER_ROUND, containerAnnotations, containerLabels } from "./labels.ts";
import { containerSecurity, type SecurityParts } from "./security/security-context.ts";
import { idMappedMounts } from "./security/userns-options.ts";
import { signalNumber } from "./stop-signal.ts";

const utf8 = new TextEncoder();

/** Inputs of a container's config beside the pod's spec. */
export interface ContainerParts {
  readonly restartCount: number;
  /** How often all containers of the pod have been restarted. */
  readonly round: number;
  /** Image reference from the image service, by which the runtime finds the image. */
  readonly imageRef: string;
  readonly env: readonly EnvEntry[];
  readonly mounts: readonly DeepPartial<Mount>[];
  readonly resources: DeepPartial<LinuxContainerResources>;
  readonly security: SecurityParts;
  readonly devices: DeviceParts;
  /** Id of the container whose process namespace is joined. */
  readonly targetId: string | undefined;
}

/** Device nodes, CDI devices and annotations of a container. */
export interface DeviceParts {
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  /** The agent's own annotations go before these. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Fully qualified names, `vendor/class=device`. */
  readonly cdiDevices: readonly string[];
}

/** The security context, in the process namespace of another container where there is one to join. */
function inNamespaceOf(
  targetId: string | undefined,
  security: ReturnType<typeof containerSecurity>,
): ReturnType<typeof containerSecurity> {
  if (targetId === undefined) return security;
  const namespaceOptions = {
    ...security.namespaceOptions,
    pid: NamespaceMode.TARGET,
    targetId,
  };
  return { ...security, namespaceOptions };
}

/** One attempt of a container as the Go kubelet asks for it (kuberuntime_container.go generateContainerConfig). */
export function containerConfig(
  pod: IdentifiedPod,
  container: Container,
  parts: ContainerParts,
): DeepPartial<ContainerConfig> {
  const values = new Map(parts.env.map(({ name, value }) => [name, value]));
  const expand = (text: string) => expandVariables(text, (name) => values.get(name));
  return {
    metadata: { name: container.name, attempt: parts.restartCount },
    image: { image: parts.imageRef, userSpecifiedImage: container.image ?? "" },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? "",
    envs: parts.env.map(({ name, value }) => ({ key: name, value: utf8.encode(value) })),
    mounts: idMappedMounts(parts.mounts, parts.security.userNamespace),
    labels: containerLabels(pod, container),
    annotations: {
      ...parts.devices.annotations,
      ...(parts.round > 0 ? { [CONTAINER_ROUND]: String(parts.round) } : {}),
      ...containerAnnotations(pod, container, parts.restartCount),
    },
    devices: [...parts.devices.devices],
    CDIDevices: parts.devices.cdiDevices.map((name) => ({ name })),
    logPath: containerLogFile(container.name, parts.restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: signalNumber(container.lifecycle?.stopSignal),
    linux: {
      resources: parts.resources,
      securityContext: inNamespaceOf(
        parts.targetId,
        containerSecurity(pod, container, parts.security),
      ),
    },
  };
}
