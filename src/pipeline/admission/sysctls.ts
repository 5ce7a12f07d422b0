// pure
import type { Pod } from "../../api/generated/types.ts";
import { dottedSysctl, sysctlNamespace } from "../../api/validation/security.ts";
import { isKernelAtLeast, type KernelRelease } from "../../kit/proc/kernel-version.ts";

/**
 * Kernel settings any pod may set in its own namespaces, with the kernel from which on they belong to a network
 * namespace (kubelet sysctl/safe_sysctls.go, pkg/util/kernel).
 */
const SAFE: ReadonlyMap<string, KernelRelease> = new Map([
  ["kernel.shm_rmid_forced", [0, 0]],
  ["net.ipv4.ip_local_port_range", [0, 0]],
  ["net.ipv4.ip_local_reserved_ports", [3, 16]],
  ["net.ipv4.ip_unprivileged_port_start", [0, 0]],
  ["net.ipv4.ping_group_range", [0, 0]],
  ["net.ipv4.tcp_fin_timeout", [4, 6]],
  ["net.ipv4.tcp_keepalive_intvl", [4, 5]],
  ["net.ipv4.tcp_keepalive_probes", [4, 5]],
  ["net.ipv4.tcp_keepalive_time", [4, 5]],
  ["net.ipv4.tcp_notsent_lowat", [4, 6]],
  ["net.ipv4.tcp_rmem", [4, 15]],
  ["net.ipv4.tcp_slow_start_after_idle", [4, 15]],
  ["net.ipv4.tcp_syncookies", [0, 0]],
  ["net.ipv4.tcp_wmem", [4, 15]],
]);

/** The node, as far as it decides on kernel settings. */
interface SysctlRules {
  /** Names of settings, or beginnings that end in `*`, that pods may set beyond the safe ones. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** Absent: a kernel that has all of the safe settings. */
  readonly kernelVersion?: string;
}

/** Why the pod may not set what it asks for; `undefined` when it may. */
export function forbiddenSysctl(
  pod: Pod,
  { allowedUnsafeSysctls: allowed, kernelVersion }: SysctlRules,
): string | undefined {
  for (const { name } of pod.spec?.securityContext?.sysctls ?? []) {
    const dotted = dottedSysctl(name);
    const namespace = sysctlNamespace(dotted);
    const isAllowed = allowed.some((pattern) => matches(dotted, pattern));
    if (!isAllowed && !isSafe(dotted, kernelVersion)) {
      return `forbidden sysctl: ${JSON.stringify(dotted)} not allowlisted`;
    }
    const shared = sharedNamespace(namespace, pod);
    if (shared !== undefined) {
      return `forbidden sysctl: ${JSON.stringify(dotted)} not allowed with host ${shared} enabled`;
    }
  }
  return undefined;
}

function isSafe(name: string, kernelVersion: string | undefined): boolean {
  const since = SAFE.get(name);
  if (since === undefined) return false;
  return kernelVersion === undefined || isKernelAtLeast(kernelVersion, since);
}

/** The namespace of a setting in Kubernetes' spelling, when the pod shares it with the machine. */
function sharedNamespace(
  namespace: ReturnType<typeof sysctlNamespace>,
  { spec }: Pod,
): string | undefined {
  if (namespace === "net") return spec?.hostNetwork === true ? "Net" : undefined;
  if (namespace === "ipc") return spec?.hostIPC === true ? "IPC" : undefined;
  if (namespace === "user") return spec?.hostUsers === false ? undefined : "User";
  return undefined;
}

function matches(name: string, pattern: string): boolean {
  const dotted = dottedSysctl(pattern);
  return dotted.endsWith("*") ? name.startsWith(dotted.slice(0, -1)) : name === dotted;
}
