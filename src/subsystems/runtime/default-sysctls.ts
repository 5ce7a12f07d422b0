// pure
import type { PodSpec } from "../../api/generated/types.ts";
import { dottedSysctl } from "../../api/validation/security.ts";

/** Kernel settings of a pod's own IPC namespace that a runtime sets, beside those below `fs.mqueue.`. */
const IPC_NAMES: ReadonlySet<string> = new Set([
  "kernel.msgmax",
  "kernel.msgmnb",
  "kernel.msgmni",
  "kernel.sem",
  "kernel.shmall",
  "kernel.shmmax",
  "kernel.shmmni",
  "kernel.shm_rmid_forced",
]);

/**
 * The settings of `defaultPodSysctls` that a pod gets, by their names with dots: those of a namespace that it shares with the
 * machine are left out, and so is what no runtime would set (kuberuntime_sandbox.go applyPodSysctls).
 */
export function defaultSysctls(
  defaults: Readonly<Record<string, string>>,
  spec: PodSpec | undefined,
): readonly (readonly [name: string, value: string])[] {
  return Object.entries(defaults)
    .map(([name, value]) => [dottedSysctl(name), value] as const)
    .filter(([name]) => isOwn(name, spec));
}

function isOwn(name: string, spec: PodSpec | undefined): boolean {
  if (IPC_NAMES.has(name) || name.startsWith("fs.mqueue.")) return spec?.hostIPC !== true;
  if (name.startsWith("net.")) return spec?.hostNetwork !== true;
  if (name.startsWith("user.")) return spec?.hostUsers === false;
  // A pod in the network of the machine has its host name, too.
  return name === "kernel.domainname" && spec?.hostNetwork !== true;
}
