// pure

import type { EnvEntry } from "../../api/env.ts";
import { expandVariables } from "../../api/expand.ts";
import type { Container, Pod } from "../../api/generated/types.ts";
import { containerLogFile } from "../../api/pod-paths.ts";
import type { ContainerConfig, DeepPartial } from "../../outside/cri/cri.ts";
import {
  type LinuxContainerResources,
  type Mount,
  SecurityProfile_ProfileType,
} from "../../outside/cri/generated/api.ts";
import { containerAnnotations, containerLabels } from "./labels.ts";
import { namespaceOptions } from "./sandbox-config.ts";

/** Kernel files a container does not see, or cannot write (OCI defaults, pkg/securitycontext). */
const MASKED_PATHS = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
] as const;
const READONLY_PATHS = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
] as const;

const utf8 = new TextEncoder();

export interface ContainerParts {
  readonly restartCount: number;
  /** What the image service answered; the runtime finds the image by it. */
  readonly imageRef: string;
  readonly env: readonly EnvEntry[];
  readonly mounts: readonly DeepPartial<Mount>[];
  readonly resources: DeepPartial<LinuxContainerResources>;
}

/** One attempt of a container as the reference asks for it (kuberuntime_container.go generateContainerConfig). */
export function containerConfig(
  pod: Pod,
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
    mounts: [...parts.mounts],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, parts.restartCount),
    logPath: containerLogFile(container.name, parts.restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: { resources: parts.resources, securityContext: securityContext(pod, container) },
  };
}

function securityContext(
  pod: Pod,
  container: Container,
): NonNullable<DeepPartial<ContainerConfig>["linux"]>["securityContext"] {
  const privileged = container.securityContext?.privileged === true;
  return {
    namespaceOptions: namespaceOptions(pod),
    privileged,
    readonlyRootfs: container.securityContext?.readOnlyRootFilesystem === true,
    noNewPrivs: container.securityContext?.allowPrivilegeEscalation === false,
    maskedPaths: privileged ? [] : [...MASKED_PATHS],
    readonlyPaths: privileged ? [] : [...READONLY_PATHS],
    seccomp: { profileType: SecurityProfile_ProfileType.Unconfined, localhostRef: "" },
    supplementalGroups: [],
  };
}
