// pure
import type { Kind } from "../kind.ts";

/** The authenticated user of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Handling of fields that the kind does not have. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** One request for objects: the part that all requests share. */
export interface ObjectRequest {
  readonly kind: Kind;
  /** Empty for all namespaces and for what belongs to none. */
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly user: User;
  /** Name under which written fields are owned. */
  readonly manager: string;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** Collects what the client is to be warned of. */
  readonly warnings: string[];
}

/** The store key of the requested object. */
export const storeKeyOf = ({ kind, namespace, name }: ObjectRequest): string =>
  `${kind.namespaced ? namespace : ""}/${name}`;
