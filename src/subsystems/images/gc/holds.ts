/**
 * Images that are about to be used, and images that are being removed. A removal never begins while
 * the image is held, and to hold an image that is being removed is to wait for the end of the
 * removal. Both sides run on one thread, so that checking and marking is one step.
 */
import { normalImageName } from "../../../api/text/image-reference.ts";

/** An image that must not go, until released. Releasing twice does no harm. */
export interface Hold {
  release(): void;
}

/** Moment on the counter of removals and holds. */
export type HoldMark = number;

interface HeldName {
  readonly by: string;
  readonly key: string;
}

/** How many ended holds and removals are remembered; passes cover a few minutes only. */
const REMEMBERED = 4096;

/** The holds of all callers; see the head of this file. */
export class Holds {
  readonly #held = new Set<HeldName>();
  /** By name or id, when it was last held, on the counter. */
  readonly #heldUntil = new Map<string, HoldMark>();
  readonly #removing = new Map<string, Promise<unknown>>();
  readonly #removed = new Map<string, HoldMark>();
  #now: HoldMark = 0;

  /** The present moment: what ends later is in `heldSince` and `removedSince`. */
  mark(): HoldMark {
    return this.#now;
  }

  /** Holds a name or id from now on. */
  hold(nameOrId: string, by: string): Hold {
    const held: HeldName = { key: normalImageName(nameOrId), by };
    this.#held.add(held);
    return {
      release: () => {
        if (!this.#held.delete(held)) return;
        remember(this.#heldUntil, held.key, this.#tick());
      },
    };
  }

  /** Holders of an image with any of these names. */
  holdersOf(keys: readonly string[]): readonly string[] {
    const names = new Set(keys.map(normalImageName));
    const found = new Set<string>();
    for (const { key, by } of this.#held) if (names.has(key)) found.add(by);
    return [...found];
  }

  /** Whether any of these names was held at any time after the mark. */
  heldSince(keys: readonly string[], mark: HoldMark): boolean {
    if (this.holdersOf(keys).length > 0) return true;
    return keys.some((key) => (this.#heldUntil.get(normalImageName(key)) ?? 0) > mark);
  }

  /** Resolves when no removal of any of these names is under way. */
  async untilNotRemoved(keys: readonly string[]): Promise<void> {
    for (;;) {
      const under = keys.flatMap((key) => this.#removing.get(normalImageName(key)) ?? []);
      if (under.length === 0) return;
      await Promise.allSettled(under);
    }
  }

  /** Whether the image was removed, or its removal was tried, after the mark. */
  removedSince(key: string, mark: HoldMark): boolean {
    return (this.#removed.get(normalImageName(key)) ?? 0) > mark;
  }

  /**
   * Removes an image unless it was held at any time since the mark; resolves with whether it was tried.
   * `remove` may throw.
   */
  async removeUnlessHeld(
    keys: readonly string[],
    mark: HoldMark,
    remove: () => Promise<void>,
  ): Promise<boolean> {
    if (this.heldSince(keys, mark)) return false;
    const names = keys.map(normalImageName);
    const at = this.#tick();
    const work = remove();
    for (const name of names) {
      this.#removing.set(name, work);
      remember(this.#removed, name, at);
    }
    try {
      await work;
    } finally {
      const ended = this.#tick();
      for (const name of names) {
        this.#removing.delete(name);
        remember(this.#removed, name, ended);
      }
    }
    return true;
  }

  #tick(): HoldMark {
    this.#now += 1;
    return this.#now;
  }
}

/** Keeps the latest entries only. */
function remember(map: Map<string, HoldMark>, key: string, mark: HoldMark): void {
  map.delete(key);
  map.set(key, mark);
  if (map.size <= REMEMBERED) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
