// pure
import type { Container, Pod } from "../generated/types.ts";
import { isRestartableInit } from "./pod.ts";

type ResourceList = Readonly<Record<string, string>>;

/** How amounts of one kind are read, added and compared. */
export interface Arithmetic<T> {
  read(name: string, text: string): T;
  plus(a: T, b: T): T;
  greater(a: T, b: T): boolean;
}

/** The amounts of a resource list by name. */
export function readAmounts<T>(
  list: ResourceList | undefined,
  { read }: Pick<Arithmetic<T>, "read">,
): Map<string, T> {
  const amounts = new Map<string, T>();
  for (const [name, text] of Object.entries(list ?? {})) amounts.set(name, read(name, text));
  return amounts;
}

/** Adds `more` to `sum`, name by name. */
export function addInto<T>(
  sum: Map<string, T>,
  more: ReadonlyMap<string, T>,
  { plus }: Pick<Arithmetic<T>, "plus">,
): void {
  for (const [name, amount] of more) {
    const present = sum.get(name);
    sum.set(name, present === undefined ? amount : plus(present, amount));
  }
}

function maxInto<T>(
  largest: Map<string, T>,
  more: ReadonlyMap<string, T>,
  { greater }: Arithmetic<T>,
): void {
  for (const [name, amount] of more) {
    const present = largest.get(name);
    if (present === undefined || greater(amount, present)) largest.set(name, amount);
  }
}

/**
 * Sum of a pod's container resources. Regular containers and sidecars run side by side and add
 * up; an init container runs beside the sidecars before it only, so it merely sets a minimum.
 */
export function aggregateContainers<T>(
  pod: Pod,
  pick: (container: Container) => ResourceList | undefined,
  arithmetic: Arithmetic<T>,
): Map<string, T> {
  const total = new Map<string, T>();
  const sidecars = new Map<string, T>();
  const minimum = new Map<string, T>();
  for (const container of pod.spec?.containers ?? [])
    addInto(total, readAmounts(pick(container), arithmetic), arithmetic);
  for (const container of pod.spec?.initContainers ?? []) {
    const own = readAmounts(pick(container), arithmetic);
    if (isRestartableInit(container)) {
      addInto(total, own, arithmetic);
      addInto(sidecars, own, arithmetic);
      maxInto(minimum, sidecars, arithmetic);
    } else {
      addInto(own, sidecars, arithmetic);
      maxInto(minimum, own, arithmetic);
    }
  }
  maxInto(total, minimum, arithmetic);
  return total;
}
