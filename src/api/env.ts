// pure
import { expandVariables } from "./expand.ts";
import type { Container } from "./generated/types.ts";

/** One variable of a container's environment, as the runtime gets it. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
}

/** Variables given as plain values, each expanded by those before it. */
export function literalEnv(container: Container): readonly EnvEntry[] {
  const seen = new Map<string, string>();
  const entries: EnvEntry[] = [];
  for (const { name, value } of container.env ?? []) {
    const expanded = expandVariables(value ?? "", (key) => seen.get(key));
    seen.set(name, expanded);
    entries.push({ name, value: expanded });
  }
  return entries;
}
