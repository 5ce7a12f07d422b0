// pure

/**
 * Several agents on one machine share cgroups, the folder of logs and perhaps a container runtime, and their pods are
 * distinguished by their folders: each agent notes its root folder here. Notes last as long as cgroups do, until the machine is
 * restarted, so that an agent which is just being restarted is not forgotten.
 */
export const AGENT_ROOTS = "/run/nodelet-agents";

/** Root folders of agents that note none: `nodelet run` and the Go kubelet, `nodelet up`. */
export const USUAL_ROOTS = ["/var/lib/kubelet", "/var/lib/nodelet/kubelet"] as const;

/** Path of the note about an agent's root folder. */
export function rootNote(root: string): string {
  return `${AGENT_ROOTS}/${encodeURIComponent(root)}`;
}

/** Root folder that a note of that name is about; names that are no notes have none. */
export function rootOfNote(name: string): string | undefined {
  try {
    const root = decodeURIComponent(name);
    return root.startsWith("/") && rootNote(root) === `${AGENT_ROOTS}/${name}` ? root : undefined;
  } catch {
    return undefined;
  }
}
