// pure

import type { JsonValue } from "../../api/generated/types.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import { isTree } from "../../kit/json.ts";
import { FIELDS, fieldAt, GROUP_PATHS } from "../fields/fields.ts";
import { fieldOfFlag } from "../flags/flag-table.ts";
import { CONFIG_API_VERSION, CONFIG_KIND } from "../kubelet-config.ts";
import {
  type ConfigProblem,
  invalidValue,
  requiredValue,
  type SourcePlace,
  typeInvalid,
  unknownField,
} from "../problem.ts";
import type { JsonObject } from "../tree.ts";
import { decodeValue, jsonKindOf, type Report } from "./decode-value.ts";

/** The decoded contents of a file: fields in their own nesting, `null` where a drop-in takes a value away. */
export interface DecodedConfig {
  readonly fields: JsonObject;
  readonly problems: readonly ConfigProblem[];
}

/** How to read a document. */
interface DecodeOptions {
  /** Path of the file, for messages. */
  readonly source: string;
  /** Whether `null` takes a value away (a drop-in) or means "not set" (the main file). */
  readonly keepNull: boolean;
  /** The line of a field in the file, if known. */
  readonly lineOf?: (path: string) => number | undefined;
}

/**
 * Checks a parsed document strictly: `apiVersion` and `kind`, no unknown name, every value of its type.
 * All problems are returned, each with its dotted path, and with a line where that is known.
 */
export function decodeConfig(document: unknown, options: DecodeOptions): DecodedConfig {
  const problems: ConfigProblem[] = [];
  const report: Report = (problem) => {
    problems.push({ ...problem, place: placeOf(problem.path, options) });
  };
  if (document === null || document === undefined) {
    report(requiredValue("", "the file is empty", `start it with ${HEADER}`));
    return { fields: {}, problems };
  }
  if (!isTree(document)) {
    report(typeInvalid("", document, `expected a mapping, got ${jsonKindOf(document)}`));
    return { fields: {}, problems };
  }
  checkIdentity(document, report);
  const { apiVersion: _, kind: __, ...rest } = document;
  return { fields: decodeGroup(rest, "", options.keepNull, report), problems };
}

const HEADER = `"apiVersion: ${CONFIG_API_VERSION}" and "kind: ${CONFIG_KIND}"`;

function placeOf(path: string, options: DecodeOptions): SourcePlace {
  const line = path === "" ? undefined : options.lineOf?.(path);
  return line === undefined ? { source: options.source } : { source: options.source, line };
}

function checkIdentity(document: { readonly [name: string]: unknown }, report: Report): void {
  const expected = { apiVersion: CONFIG_API_VERSION, kind: CONFIG_KIND } as const;
  for (const name of ["apiVersion", "kind"] as const) {
    const value = Object.hasOwn(document, name) ? document[name] : undefined;
    if (value === undefined || value === null || value === "") {
      report(
        requiredValue(name, `every configuration file must have it`, `start it with ${HEADER}`),
      );
    } else if (value !== expected[name]) {
      report(invalidValue(name, value, `must be ${expected[name]}`));
    }
  }
}

function decodeGroup(
  group: { readonly [name: string]: unknown },
  prefix: string,
  keepNull: boolean,
  report: Report,
): JsonObject {
  const decoded: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(group)) {
    const path = `${prefix}${name}`;
    const field = fieldAt(path);
    if (field === undefined && !GROUP_PATHS.has(path)) {
      report(unknownField(path, suggestion(name, prefix)));
    } else if (value === null) {
      if (keepNull) decoded.push([name, null]);
    } else if (field !== undefined) {
      const good =
        keepNull && field.type.kind === "map" && isTree(value)
          ? decodePatchMap(path, value, report)
          : decodeValue(field.type, value, path, report);
      if (good !== undefined) decoded.push([name, good]);
    } else if (isTree(value)) {
      decoded.push([name, decodeGroup(value, `${path}.`, keepNull, report)]);
    } else {
      report(typeInvalid(path, value, `expected a mapping, got ${jsonKindOf(value)}`));
    }
  }
  return Object.fromEntries(decoded);
}

/** A map of a drop-in, whose entries may be `null` to take one away. */
function decodePatchMap(
  path: string,
  value: { readonly [name: string]: unknown },
  report: Report,
): JsonValue | undefined {
  const type = fieldAt(path)?.type;
  if (type === undefined) return undefined;
  const kept = Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== null));
  const removed = Object.entries(value).filter(([, entry]) => entry === null);
  const decoded = decodeValue(type, kept, path, report);
  if (!isTree(decoded)) return undefined;
  return Object.fromEntries([
    ...Object.entries(decoded),
    ...removed.map(([name]): [string, JsonValue] => [name, null]),
  ]) as JsonObject;
}

/** The field that was most likely meant: beside it, or elsewhere under the same last name. */
function suggestion(name: string, prefix: string): string {
  const ofFlag = fieldOfFlag(name);
  if (prefix === "" && ofFlag !== undefined) return `did you mean ${ofFlag}?`;
  const elsewhere = FIELDS.find(({ path }) => path.endsWith(`.${name}`));
  if (elsewhere !== undefined) return `did you mean ${elsewhere.path}?`;
  const parents = prefix === "" ? 0 : prefix.split(".").length - 1;
  const siblings = new Set(
    FIELDS.filter(({ path }) => path.startsWith(prefix)).map(
      ({ path }) => path.split(".")[parents] ?? path,
    ),
  );
  const near = didYouMean(name, siblings);
  return near === "" || prefix === "" ? near : near.replace("mean ", `mean ${prefix}`);
}
