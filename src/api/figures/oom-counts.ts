/**
 * How often memory ran out within each cgroup, by the cgroup whose limit was reached, since the agent was started. The
 * watcher of the kernel's log writes it, statistics read it. Example: `counts.add("/kubepods/podx/c0ffee")`.
 */

/** Groups that are counted; beyond that the one that was counted first is forgotten. */
const MAX_GROUPS = 10_000;

/** The group of all pods, with either cgroup driver, and what is below. */
const OWN_PART = /\/(?:[^/]*-)?kubepods(?:\.slice)?(?:\/.*)?$/;

/** See the head of the file. */
export class OomCounts {
  readonly #counts = new Map<string, number>();

  /** Counts one event; `path` as the kernel reports it, `/` when the machine itself had no memory left. */
  add(path: string): void {
    const key = ownPart(path);
    const known = this.#counts.get(key);
    if (known === undefined && this.#counts.size >= MAX_GROUPS) {
      const [first = ""] = this.#counts.keys();
      this.#counts.delete(first);
    }
    this.#counts.set(key, (known ?? 0) + 1);
  }

  /** Events of the group at a path, as the kernel or the agent sees it. */
  of(path: string): number {
    return this.#counts.get(ownPart(path)) ?? 0;
  }
}

/** The kernel's paths begin at the root of the hierarchy, which may be far above what the agent sees. */
function ownPart(path: string): string {
  return OWN_PART.exec(path)?.[0] ?? path;
}
