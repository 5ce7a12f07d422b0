/** Objects of an API in memory, by their path. */
export class ObjectsInMemory {
  readonly byPath = new Map<string, unknown>();
  readonly listeners = new Map<string, Set<(object: unknown) => void>>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];

  set(plural: string, name: string, object: unknown): void {
    const path = `${plural}/${name}`;
    this.byPath.set(path, object);
    for (const listener of this.listeners.get(path) ?? []) listener(object);
  }

  get(plural: string, name = ""): unknown {
    this.asked.push(plural);
    return this.byPath.get(`${plural}/${name}`);
  }
}
