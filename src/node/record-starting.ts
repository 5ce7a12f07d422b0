import type { NodeEvents } from "../api/ports/events.ts";
import { isKernelAtLeast } from "../kit/proc/kernel-version.ts";
import type { Host, HostFacts } from "../outside/host/host.ts";

/** From this kernel on, file systems in memory can be kept from being swapped to disk. */
const NOSWAP_KERNEL = [6, 4] as const;

/** Records the node's Starting event and warnings about its machine (BirthCry, cgroupVersionCheck). */
export function recordStarting(
  events: NodeEvents,
  host: Host,
  { swapBytes, kernelVersion }: HostFacts,
): void {
  events.ofNode({ type: "Normal", reason: "Starting", message: "Starting kubelet." });
  if (swapBytes > 0 && !isKernelAtLeast(kernelVersion, NOSWAP_KERNEL)) {
    const message =
      "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.";
    events.ofNode({ type: "Warning", reason: "PossibleMemoryBackedVolumesOnDisk", message });
  }
  if (host.cgroups.version !== 1) return;
  const message =
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";
  events.ofNode({ type: "Warning", reason: "CgroupV1", message });
}
