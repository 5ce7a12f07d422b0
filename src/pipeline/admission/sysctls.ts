// pure
import type { Pod } from "../../api/generated/types.ts";
import { dottedSysctl, sysctlNamespace } from "../../api/validation/security.ts";

/** Kernel settings any pod may set in its own namespaces (kubelet sysctl/safe_sysctls.go). */
const SAFE: ReadonlySet<string> = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
]);

/** Why the pod may not set what it asks for; `undefined` when it may. `allowed` may end in `*`. */
export function forbiddenSysctl(pod: Pod, allowed: readonly string[]): string | undefined {
  for (const { name } of pod.spec?.securityContext?.sysctls ?? []) {
    const dotted = dottedSysctl(name);
    const namespace = sysctlNamespace(dotted);
    if (!SAFE.has(dotted) && !allowed.some((pattern) => matches(dotted, pattern))) {
      return `forbidden sysctl: ${JSON.stringify(dotted)} not allowlisted`;
    }
    if (namespace === "net" && pod.spec?.hostNetwork === true) {
      return `forbidden sysctl: ${JSON.stringify(dotted)} not allowed with host net enabled`;
    }
    if (namespace === "ipc" && pod.spec?.hostIPC === true) {
      return `forbidden sysctl: ${JSON.stringify(dotted)} not allowed with host ipc enabled`;
    }
  }
  return undefined;
}

function matches(name: string, pattern: string): boolean {
  const dotted = dottedSysctl(pattern);
  return dotted.endsWith("*") ? name.startsWith(dotted.slice(0, -1)) : name === dotted;
}
