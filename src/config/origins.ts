// pure
import { isTree } from "../kit/json.ts";
import { FIELDS, fieldAt } from "./fields/fields.ts";
import type { SourcePlace } from "./problem.ts";
import { getAt, type JsonObject } from "./tree.ts";

/** Source of a field's value. */
export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file" | "dropIn"; readonly path: string; readonly line?: number }
  | { readonly kind: "flag"; readonly flag: string };

/**
 * The origin of every field by its dotted path, and of every entry of a map by `field[entry]`. An entry
 * that no file or flag set is a default even where the field itself has another origin.
 */
export type Origins = ReadonlyMap<string, Origin>;

const DEFAULT: Origin = { kind: "default" };

/** A file that sets fields. */
export interface SourceFile {
  readonly kind: "file" | "dropIn";
  readonly path: string;
  readonly lineOf: (path: string) => number | undefined;
}

function originIn({ kind, path, lineOf }: SourceFile, field: string): Origin {
  const line = lineOf(field);
  return line === undefined ? { kind, path } : { kind, path, line };
}

/** Origins in the making: files in the order they apply, then flags. */
export class OriginBook {
  readonly #origins = new Map<string, Origin>(FIELDS.map(({ path }) => [path, DEFAULT]));

  /** Notes what a file sets; `null` in a drop-in gives a field back to its default. */
  addFile(fields: JsonObject, file: SourceFile): void {
    for (const { path } of FIELDS) {
      const value = valueOrNullAbove(fields, path);
      if (value === undefined) continue;
      if (value === null) {
        this.#forget(path);
      } else {
        this.#origins.set(path, originIn(file, path));
        this.#addEntries(path, value, (at) => originIn(file, at));
      }
    }
  }

  /** Notes what a flag sets. All maps but the feature gates are replaced as a whole. */
  addFlag(path: string, value: unknown, flag: string): void {
    const origin: Origin = { kind: "flag", flag };
    if (path !== "featureGates") this.#forget(path);
    this.#origins.set(path, origin);
    this.#addEntries(path, value, () => origin);
  }

  origins(): Origins {
    return this.#origins;
  }

  #addEntries(path: string, value: unknown, originOf: (path: string) => Origin): void {
    if (fieldAt(path)?.type.kind !== "map" || !isTree(value)) return;
    for (const [name, entry] of Object.entries(value)) {
      const at = `${path}[${name}]`;
      if (entry === null) this.#origins.delete(at);
      else this.#origins.set(at, originOf(at));
    }
  }

  #forget(path: string): void {
    for (const known of [...this.#origins.keys()]) {
      if (known.startsWith(`${path}[`)) this.#origins.delete(known);
    }
    this.#origins.set(path, DEFAULT);
  }
}

/** The value at `path`, or `null` when it or a group around it was taken away. */
function valueOrNullAbove(fields: JsonObject, path: string): unknown {
  const parts = path.split(".");
  for (let depth = 1; depth < parts.length; depth += 1) {
    if (getAt(fields, parts.slice(0, depth).join(".")) === null) return null;
  }
  return getAt(fields, path);
}

/** The place of what is wrong at `path`: where the value there, or around it, was set. */
export function locateProblem(origins: Origins, path: string): SourcePlace | undefined {
  let at = path;
  for (;;) {
    const origin = origins.get(at);
    if (origin?.kind === "default") return undefined;
    if (origin?.kind === "flag") return { source: formatOrigin(origin) };
    if (origin !== undefined) {
      return origin.line === undefined
        ? { source: origin.path }
        : { source: origin.path, line: origin.line };
    }
    const end = Math.max(at.lastIndexOf("["), at.lastIndexOf("."));
    if (end <= 0) return undefined;
    at = at.slice(0, end);
  }
}

/** The origin in words, e.g. `default`, `/etc/nodelet/config.yaml`, `--max-pods`. */
export function formatOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "default":
      return "default";
    case "file":
    case "dropIn":
      return origin.path;
    case "flag":
      return `--${origin.flag}`;
    default:
      return origin satisfies never;
  }
}
