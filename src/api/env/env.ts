// pure

import type { Container } from "../generated/types.ts";
import { expandVariables } from "./expand.ts";

/** One variable of a container's environment, as the runtime gets it. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
}

/** Value of a reference in the spec: a text, nothing (left out), or why it is not available. */
export type EnvValue =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly message: string };

/** Inputs of a container's environment. */
export interface EnvParts {
  /** Variables that services bring; all others go before them. */
  readonly services: ReadonlyMap<string, string>;
  /** Variables of `envFrom`, prefixes included, in the order of the spec: later ones win. */
  readonly from: readonly (readonly [string, string])[];
  /** Value of `valueFrom` of the variable at this index of the spec. */
  readonly valueFrom: (index: number) => EnvValue;
}

/** A container's environment, or the first thing that is wrong with it. */
export type Environment =
  | { readonly kind: "env"; readonly entries: readonly EnvEntry[] }
  | { readonly kind: "fault"; readonly message: string };

/**
 * The environment of a container: `envFrom`, then `env` in order, each expanded by all before it and by
 * the services' variables, then the services' where nothing else has the name (kubelet
 * makeEnvironmentVariables).
 */
export function assembleEnv(container: Container, parts: EnvParts): Environment {
  const known = new Map(parts.from);
  const lookup = (name: string) => known.get(name) ?? parts.services.get(name);
  for (const [index, { name, value = "", valueFrom }] of (container.env ?? []).entries()) {
    if (value !== "" || !valueFrom) {
      known.set(name, expandVariables(value, lookup));
      continue;
    }
    const found = parts.valueFrom(index);
    if (found.kind === "fault") return found;
    if (found.kind === "value") known.set(name, found.value);
  }
  for (const [name, value] of parts.services) if (!known.has(name)) known.set(name, value);
  return { kind: "env", entries: [...known].map(([name, value]) => ({ name, value })) };
}
