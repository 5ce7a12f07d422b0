// pure

/**
 * Priority queue (binary heap): `pop` gives the item that comes before all others. Of items that
 * `before` calls equal, any may come first.
 */
export class Heap<T> {
  readonly #before: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The next item, which stays. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = items[parentAt] as T;
      if (!this.#before(item, parent)) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = item;
  }

  /** The next item, taken out. */
  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= items.length) break;
      const right = childAt + 1;
      if (right < items.length && this.#before(items[right] as T, items[childAt] as T)) {
        childAt = right;
      }
      if (!this.#before(items[childAt] as T, last)) break;
      items[at] = items[childAt] as T;
      at = childAt;
    }
    items[at] = last;
    return first;
  }
}
