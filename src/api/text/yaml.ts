// pure

import {
  constructFromEvents,
  DUMP_SCHEMA,
  defineScalarTag,
  dump,
  EVENT_ID,
  type Event,
  getScalarValue,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  SCALAR_STYLE,
  Schema,
  seqTag,
  strTag,
  YAMLException,
} from "js-yaml";
import { base64ToBytes } from "../../kit/base64.ts";
import { UsageError } from "../../kit/errors.ts";
import { isNullText, resolveBoolean, resolveFloat, resolveInteger } from "./yaml-schema.ts";

/** Values in a document: JSON, with integers beyond 2^53 kept exactly as `bigint`. */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue };

/** One document of a stream. */
interface YamlDocument {
  readonly value: YamlValue;
  /** First line of its content, counted from 1. */
  readonly line: number;
}

/** Bounds for text from outside; what exceeds one is refused as a whole. */
export interface YamlLimits {
  /** Bytes of UTF-8. */
  readonly maxBytes: number;
  /** Documents in the stream, empty ones not counted. */
  readonly maxDocuments: number;
  /** Collections inside one another, at most 500. */
  readonly maxDepth: number;
  /** Nodes of all documents once every alias is written out. */
  readonly maxNodes: number;
}

/** Generous for manifests: a list of all pods of a full node is some hundred KiB. */
const YAML_LIMITS: YamlLimits = {
  maxBytes: 4 * 1024 * 1024,
  maxDocuments: 1000,
  maxDepth: 100,
  maxNodes: 500_000,
};

/** The parser recurses; beyond this depth its stack would not be safe. */
const DEEPEST = 500;
const MAX_MERGED_KEYS = 10_000;

/** The text is no YAML, or more than we take. The message names place and fix. */
export class YamlError extends UsageError {
  /** Counted from 1; 0 when the fault has no place. */
  readonly line: number;
  /** Counted from 1; 0 when the fault has no place. */
  readonly column: number;

  constructor(reason: string, place: { readonly line: number; readonly column: number }) {
    super(place.line === 0 ? reason : `line ${place.line}, column ${place.column}: ${reason}`);
    this.line = place.line;
    this.column = place.column;
  }
}

const NOWHERE = { line: 0, column: 0 };

function placeOf(text: string, position: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < position; at = text.indexOf("\n", at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return { line, column: position - lineStart + 1 };
}

/** A number without a JSON form, found while scalars are resolved. */
class NonFinite extends Error {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}

const orUnresolved = <T>(value: T | undefined): T | typeof NOT_RESOLVED =>
  value === undefined ? NOT_RESOLVED : value;

function finite(text: string): number | undefined {
  const value = resolveFloat(text);
  if (value !== undefined && !Number.isFinite(value)) throw new NonFinite(text);
  return value;
}

const decodeBase64 = (base64: string): Uint8Array | undefined => {
  const compact = base64.replace(/\s/g, "");
  return /^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0
    ? base64ToBytes(compact)
    : undefined;
};

const never = { identify: () => false };

/** The rules of go-yaml v2, which Kubernetes uses: `yes` is a boolean, `0644` octal, a date a string. */
const GO_SCHEMA = new Schema([
  strTag,
  seqTag,
  mapTag,
  mergeTag,
  defineScalarTag("tag:yaml.org,2002:null", {
    implicit: true,
    resolve: (text) => (isNullText(text) ? null : NOT_RESOLVED),
    ...never,
  }),
  defineScalarTag("tag:yaml.org,2002:bool", {
    implicit: true,
    resolve: (text) => orUnresolved(resolveBoolean(text)),
    ...never,
  }),
  defineScalarTag("tag:yaml.org,2002:int", {
    implicit: true,
    resolve: (text) => orUnresolved(resolveInteger(text)),
    ...never,
  }),
  defineScalarTag("tag:yaml.org,2002:float", {
    implicit: true,
    resolve: (text) => orUnresolved(finite(text)),
    ...never,
  }),
  defineScalarTag("tag:yaml.org,2002:timestamp", { resolve: (text) => text, ...never }),
  defineScalarTag("tag:yaml.org,2002:binary", {
    resolve: (text) => {
      const bytes = decodeBase64(text);
      return bytes === undefined ? NOT_RESOLVED : new TextDecoder().decode(bytes);
    },
    ...never,
  }),
]);

/** Hints by the parser's messages. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [/tab characters/, "indent with spaces"],
  [/duplicated mapping key/, "keep only one of the two"],
  [
    /bad indentation|deficient indentation/,
    "align it with its neighbours, and quote values that contain `: `",
  ],
  [/maxDepth/, "Kubernetes objects are not nested that deeply"],
  [/unidentified alias/, "define it with & before its use, or quote the value if it starts with *"],
  [/unexpected end of the stream within a flow/, "close the bracket or brace"],
  [/unexpected end of the stream within a (single|double)/, "close the quotes"],
  [/missed comma/, "put a comma between the entries"],
  [/unknown .* tag|cannot resolve/, "remove the tag that starts with !"],
  [/complex keys/, "use plain text as key"],
  [/null byte|non-printable/, "save the file as UTF-8 text"],
  [/implicit key|expected ':'/, "check for a missing colon or space after it"],
];

function asYamlError(thrown: unknown, text: string): unknown {
  if (thrown instanceof NonFinite)
    return new YamlError(
      `${thrown.text} cannot be represented in JSON; use a finite number or quote it`,
      NOWHERE,
    );
  if (thrown instanceof RangeError)
    return new YamlError("the document is nested too deeply", NOWHERE);
  if (!(thrown instanceof YAMLException)) return thrown;
  const fix = FIXES.find(([words]) => words.test(thrown.reason))?.[1];
  const reason = thrown.reason.replace(
    /nesting exceeded maxDepth \((\d+)\)/,
    "nested deeper than $1 levels",
  );
  const place = thrown.mark === undefined ? NOWHERE : placeOf(text, thrown.mark.position);
  return new YamlError(fix === undefined ? reason : `${reason}; ${fix}`, place);
}

/** Offset of an event in the text, -1 when it has none. */
function startOf(event: Event): number {
  switch (event.type) {
    case EVENT_ID.SCALAR:
      return event.valueStart;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    case EVENT_ID.ALIAS:
      return event.anchorStart;
    default:
      return -1;
  }
}

/** Counts nodes as if every alias were written out, and refuses what would not fit in memory. */
class Expansion {
  readonly #text: string;
  readonly #limits: YamlLimits;
  readonly #open: { readonly anchor: string; nodes: number }[] = [];
  #anchors = new Map<string, number>();
  #total = 0;

  constructor(text: string, limits: YamlLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  add(event: Event): void {
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        this.#anchors = new Map();
        this.#open.push({ anchor: "", nodes: 0 });
        return;
      case EVENT_ID.MAPPING:
      case EVENT_ID.SEQUENCE:
        this.#open.push({ anchor: this.#anchorOf(event), nodes: 1 });
        return;
      case EVENT_ID.SCALAR:
        this.#close(this.#anchorOf(event), 1, event);
        return;
      case EVENT_ID.ALIAS: {
        const anchor = this.#anchorOf(event);
        if (this.#open.some((open) => open.anchor === anchor))
          throw new YamlError(
            `anchor "${anchor}" contains itself; write the value out`,
            placeOf(this.#text, event.anchorStart),
          );
        this.#close("", this.#anchors.get(anchor) ?? 1, event);
        return;
      }
      case EVENT_ID.POP: {
        const closed = this.#open.pop();
        if (closed !== undefined) this.#close(closed.anchor, closed.nodes, event);
      }
    }
  }

  #anchorOf(event: { readonly anchorStart: number; readonly anchorEnd: number }): string {
    return event.anchorStart < 0 ? "" : this.#text.slice(event.anchorStart, event.anchorEnd);
  }

  #close(anchor: string, nodes: number, event: Event): void {
    if (anchor !== "") this.#anchors.set(anchor, nodes);
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#total += nodes;
    else parent.nodes += nodes;
    const total = parent?.nodes ?? this.#total;
    if (total <= this.#limits.maxNodes) return;
    const start = startOf(event);
    throw new YamlError(
      `more than ${this.#limits.maxNodes} nodes once aliases are written out; use fewer aliases or split the file`,
      start < 0 ? NOWHERE : placeOf(this.#text, start),
    );
  }
}

function withinBytes(text: string, limits: YamlLimits): boolean {
  if (text.length > limits.maxBytes) return false;
  return (
    text.length * 3 <= limits.maxBytes || new TextEncoder().encode(text).length <= limits.maxBytes
  );
}

/** The line on which each document's content starts, 0 for one without content. */
function contentLines(text: string, events: readonly Event[]): readonly number[] {
  const lines: number[] = [];
  let line = 1;
  let seen = 0;
  for (const [i, event] of events.entries()) {
    if (event.type !== EVENT_ID.DOCUMENT) continue;
    const next = events[i + 1];
    const start = next === undefined ? -1 : startOf(next);
    if (start >= 0) {
      line += placeOf(text.slice(seen, start), start - seen).line - 1;
      seen = start;
    }
    lines.push(start < 0 ? 0 : line);
  }
  return lines;
}

function readDocuments(text: string, limits: YamlLimits): readonly YamlDocument[] {
  const events = parseEvents(text, { maxDepth: Math.min(limits.maxDepth, DEEPEST) });
  const documents = events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length;
  // Empty documents cost nothing, yet a stream of nothing else has a bound too.
  if (documents > 2 * limits.maxDocuments + 1) throw tooManyDocuments(limits);
  const expansion = new Expansion(text, limits);
  for (const event of events) expansion.add(event);
  const lines = contentLines(text, events);
  const values = constructFromEvents(events, {
    source: text,
    schema: GO_SCHEMA,
    maxTotalMergeKeys: MAX_MERGED_KEYS,
  }) as YamlValue[];
  const found = values
    .map((value, i) => ({ value, line: lines[i] ?? 0 }))
    .filter(({ value }) => value !== null);
  if (found.length > limits.maxDocuments) throw tooManyDocuments(limits);
  return found;
}

const tooManyDocuments = (limits: YamlLimits): YamlError =>
  new YamlError(`more than ${limits.maxDocuments} documents; split the file`, NOWHERE);

/** Position of the number without a JSON form: the first plain scalar with that text. */
function findScalar(text: string, wanted: string): { line: number; column: number } {
  for (const event of parseEvents(text, { maxDepth: DEEPEST }))
    if (event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN)
      if (getScalarValue(text, event) === wanted) return placeOf(text, event.valueStart);
  return NOWHERE;
}

/**
 * Reads every non-empty document of a YAML or JSON text the way Kubernetes does (`sigs.k8s.io/yaml`).
 * Duplicate keys are refused. Values shared by an alias are shared in the result too.
 * Throws `YamlError`, also when a limit is exceeded; in time proportional to the text.
 */
export function parseYaml(text: string, limits: Partial<YamlLimits> = {}): readonly YamlDocument[] {
  const bounds = { ...YAML_LIMITS, ...limits };
  if (!withinBytes(text, bounds))
    throw new YamlError(`more than ${bounds.maxBytes} bytes; split the file`, NOWHERE);
  try {
    return readDocuments(text, bounds);
  } catch (thrown) {
    if (thrown instanceof NonFinite)
      throw new YamlError(
        `${thrown.text} cannot be represented in JSON; use a finite number or quote it`,
        findScalar(text, thrown.text),
      );
    throw asYamlError(thrown, text);
  }
}

/** Like `parseYaml` for a text that must hold exactly one document. */
export function parseYamlDocument(text: string, limits: Partial<YamlLimits> = {}): YamlDocument {
  const [first, second] = parseYaml(text, limits);
  if (first === undefined) throw new YamlError("no document found", NOWHERE);
  if (second !== undefined)
    throw new YamlError("only one document is allowed here; remove the others", {
      line: second.line,
      column: 1,
    });
  return first;
}

/**
 * A plain scalar must be a string for every reader: go-yaml reads some texts as numbers that are none
 * for YAML 1.1 (`-_0`).
 */
const WRITTEN_SCHEMA = DUMP_SCHEMA.withTags(
  defineScalarTag("tag:go-yaml,2014:int", {
    implicit: true,
    resolve: (text) => orUnresolved(resolveInteger(text)),
    ...never,
  }),
  defineScalarTag("tag:go-yaml,2014:float", {
    implicit: true,
    resolve: (text) => orUnresolved(resolveFloat(text)),
    ...never,
  }),
);

/**
 * Writes a value as YAML in the style of `kubectl -o yaml`: block style, lists not indented, strings that
 * any reader could take for something else in double quotes. Keys keep their order, absent ones are left out.
 */
export function dumpYaml(value: unknown): string {
  return dump(value, {
    schema: WRITTEN_SCHEMA,
    seqNoIndent: true,
    lineWidth: -1,
    noRefs: true,
    quoteStyle: "double",
    skipInvalid: true,
  });
}
