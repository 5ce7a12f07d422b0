// pure
import type { MonotonicMs } from "../../kit/clock.ts";
import type { FolderEvent } from "../../outside/host/host.ts";

/** Two events of one name belong together within this time: both were reported before the folder could be read. */
const TOGETHER_MS = 500;

/** Names in a folder that is read. */
interface FolderNames {
  /** Those that were there when it was read before. */
  readonly before: ReadonlySet<string>;
  readonly now: ReadonlySet<string>;
}

/**
 * Finds out which files were deleted, or moved away, and made again before anybody could see them missing. Node reports one and
 * the same kind of event when a name comes, goes or is replaced, so their order decides: a file that is saved by renaming
 * another one to its name has one event, right after the one of the name that has gone by that; one that is deleted and made again
 * has two of its own.
 */
export class RecreatedFiles {
  /** Names with one event that may be half of a pair, and when it was taken. */
  readonly #half = new Map<string, MonotonicMs>();
  /** Events at the end of the last call that may be the beginning of a backup by renaming, and when they were taken. */
  #begun: { readonly events: readonly FolderEvent[]; readonly at: MonotonicMs } | undefined;

  /** Takes what was reported since the folder was last read; returns the names that were deleted and made again. */
  take(
    reported: readonly FolderEvent[],
    { before, now }: FolderNames,
    at: MonotonicMs,
  ): ReadonlySet<string> {
    const begun = this.#begun && at - this.#begun.at <= TOGETHER_MS ? this.#begun.events : [];
    const events = [...begun, ...reported];
    this.#begun = undefined;
    const counts = new Map<string, number>();
    // The two names of a rename are reported one right after the other, never long before.
    for (const [i, { kind, name }] of events.entries()) {
      if (kind !== "entry" || !before.has(name) || !now.has(name)) continue;
      const isOther = (event: FolderEvent | undefined) =>
        event?.kind === "entry" &&
        event.name !== name &&
        !(before.has(event.name) && now.has(event.name));
      // Moved to the name of a backup, and then written again.
      const isMovedAway = isOther(events[i + 1]);
      if (isOther(events[i - 1]) || (isMovedAway && events[i + 2]?.name === name)) continue;
      // The folder may be read in the middle of it.
      if (isMovedAway && i + 2 === events.length) this.#begun = { events: events.slice(i), at };
      else counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return this.#pairs(counts, at);
  }

  #pairs(counts: ReadonlyMap<string, number>, at: MonotonicMs): ReadonlySet<string> {
    for (const [name, since] of this.#half) if (at - since > TOGETHER_MS) this.#half.delete(name);
    const recreated = new Set<string>();
    for (const [name, count] of counts) {
      const isPair = count + Number(this.#half.delete(name)) >= 2;
      if (isPair) recreated.add(name);
      else this.#half.set(name, at);
    }
    return recreated;
  }
}
