import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Host } from "../../outside/host/host.ts";

/**
 * Several agents on one machine share cgroups and the folder of logs, and their pods are distinguished by their
 * folders: each agent notes its root folder here. Notes last as long as cgroups do, until the machine is restarted,
 * so that an agent which is just being restarted is not forgotten.
 */
export const AGENT_ROOTS = "/run/nodelet-agents";

/** Root folders of agents that note none: `nodelet run` and the Go kubelet, `nodelet up`. */
const USUAL_ROOTS = ["/var/lib/kubelet", "/var/lib/nodelet/kubelet"] as const;

/** Path of the note about an agent's root folder. */
export function rootNote(root: string): string {
  return `${AGENT_ROOTS}/${encodeURIComponent(root)}`;
}

/** Dependencies for finding other agents. */
export interface AgentRootsDeps {
  readonly host: Pick<Host, "files" | "podFiles">;
  readonly log: Log;
}

/** Lets other agents know of this one. Never throws. */
export async function noteRoot(root: string, { host, log }: AgentRootsDeps): Promise<void> {
  try {
    await host.files.makeDirectory(AGENT_ROOTS, 0o755);
    await host.files.writeAtomic(rootNote(root), "", 0o644);
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("failed to record the root folder for other agents on this machine", { error });
  }
}

/**
 * UIDs of pods that have a folder in another agent's root folder; `undefined` when that cannot be found out, which is
 * logged.
 */
export async function podsOfOthers(
  root: string,
  { host, log }: AgentRootsDeps,
): Promise<ReadonlySet<string> | undefined> {
  try {
    const notes = (await host.files.list(AGENT_ROOTS)) ?? [];
    const roots = new Set<string>([...USUAL_ROOTS, ...notes.flatMap(({ name }) => rootOf(name))]);
    roots.delete(root);
    const pods = new Set<string>();
    for (const other of roots)
      for (const { name } of (await host.podFiles.list(`${other}/pods`)) ?? []) pods.add(name);
    return pods;
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("failed to list pods of other agents", { error });
    return undefined;
  }
}

/** Names that are no notes are passed over. */
function rootOf(note: string): readonly string[] {
  try {
    const root = decodeURIComponent(note);
    return root.startsWith("/") && rootNote(root) === `${AGENT_ROOTS}/${note}` ? [root] : [];
  } catch {
    return [];
  }
}
