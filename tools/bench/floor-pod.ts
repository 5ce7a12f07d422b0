// pure
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from "../../src/outside/cri/cri.ts";
import { NamespaceMode, SecurityProfile_ProfileType } from "../../src/outside/cri/generated/api.ts";

/** Requests for one pod of the floor. */
export interface FloorPod {
  readonly sandbox: DeepPartial<PodSandboxConfig>;
  readonly container: DeepPartial<ContainerConfig>;
}

const MASKED = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
];
const READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
const NAMESPACES = {
  network: NamespaceMode.POD,
  pid: NamespaceMode.CONTAINER,
  ipc: NamespaceMode.POD,
};

/**
 * What a kubelet asks of the runtime for a pod like `benchPod`: written out here, so that the floor stays
 * where it is whatever becomes of the agent. `files` are mounted as /etc/hosts and /dev/termination-log.
 */
export function floorPod(
  name: string,
  image: string,
  files: { readonly hosts: string; readonly termination: string },
): FloorPod {
  const uid = `00000000-0000-4000-8000-${name}`;
  const labels = {
    "io.kubernetes.pod.name": name,
    "io.kubernetes.pod.namespace": "bench",
    "io.kubernetes.pod.uid": uid,
  };
  return {
    sandbox: {
      metadata: { name, namespace: "bench", uid, attempt: 0 },
      hostname: name,
      logDirectory: `/var/log/pods/bench_${name}_${uid}`,
      dnsConfig: { servers: ["198.51.100.1"], searches: ["box.test"], options: [] },
      labels,
      linux: {
        cgroupParent: `/floor/pod${uid}`,
        securityContext: {
          namespaceOptions: NAMESPACES,
          seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
        },
      },
    },
    container: {
      metadata: { name: "main", attempt: 0 },
      image: { image },
      command: ["sleep", "2147483647"],
      labels: { ...labels, "io.kubernetes.container.name": "main" },
      logPath: "main/0.log",
      mounts: [
        { containerPath: "/etc/hosts", hostPath: files.hosts },
        { containerPath: "/dev/termination-log", hostPath: files.termination },
      ],
      linux: {
        resources: { cpuPeriod: 100_000n, cpuShares: 2n, oomScoreAdj: 1000n },
        securityContext: {
          namespaceOptions: NAMESPACES,
          seccomp: { profileType: SecurityProfile_ProfileType.Unconfined },
          maskedPaths: MASKED,
          readonlyPaths: READONLY,
        },
      },
    },
  };
}
