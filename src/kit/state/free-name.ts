import type { Log } from "../log.ts";
import type { StatePort } from "./state-port.ts";

/** Damaged files that are kept of each name; the oldest goes when there are more, and the log says so. */
export const KEPT_BROKEN = 5;

/** A name for what is set aside; with all of them taken the oldest is given up. Throws when none can be had. */
export async function freeName(
  path: string,
  { files, log }: { readonly files: StatePort; readonly log: Log },
): Promise<string> {
  const names = Array.from({ length: KEPT_BROKEN }, (_, at) =>
    at === 0 ? `${path}.broken` : `${path}.broken.${at + 1}`,
  );
  const taken: { readonly name: string; readonly modifiedMs: number }[] = [];
  for (const name of names) {
    const facts = await files.facts(name);
    if (facts === undefined) return name;
    taken.push({ name, modifiedMs: facts.modifiedMs });
  }
  let failure: unknown;
  for (const { name } of taken.toSorted((a, b) => a.modifiedMs - b.modifiedMs)) {
    try {
      await files.remove(name);
      log.warn("removed the oldest damaged state file: there are too many", { path: name });
      return name;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}
