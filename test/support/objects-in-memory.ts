import type { ObjectPlace, ObjectSource, Resource } from "../../src/outside/kube/kube.ts";

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

  /** The same as the agent's modules read it. */
  get source(): ObjectSource {
    const source = {
      get: async ({ plural }: Resource<unknown>, { name }: ObjectPlace) => this.get(plural, name),
      list: async () => [],
      follow: (
        { plural }: Resource<unknown>,
        { name }: ObjectPlace,
        onChange: (object: unknown) => void = () => {},
      ) => {
        const path = `${plural}/${name}`;
        const listeners = this.listeners.get(path) ?? new Set();
        this.listeners.set(path, listeners);
        listeners.add(onChange);
        return () => listeners.delete(onChange);
      },
    };
    return source as unknown as ObjectSource;
  }
}
