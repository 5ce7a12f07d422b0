// pure
import { isTree, type Tree } from "../../../kit/json.ts";
import {
  FLIGHT_FORMAT,
  type Flight,
  type FlightHeader,
  type FlightNote,
  type FlightStep,
} from "./flight.ts";

/** In place of what may be secret. */
export const REDACTED = "<redacted>";
/** Shorter values are found everywhere in texts, and hide nothing. */
const MIN_SECRET_LENGTH = 6;
/** Fields of an object whose values may be secret: credentials are passed to containers in all of these ways. */
const SECRET_MAPS: ReadonlySet<string> = new Set([
  "annotations",
  "volumeAttributes",
  "data",
  "stringData",
  "binaryData",
]);
const SECRET_LISTS: ReadonlySet<string> = new Set(["command", "args"]);
const SECRET_PAIRS: ReadonlySet<string> = new Set(["env", "httpHeaders"]);
/** Texts that may repeat what a container was given, or what it wrote. */
const TEXTS: ReadonlySet<string> = new Set(["message", "problem", "output", "detail", "note"]);
/** Field with the progress of containers by name. */
const TEXTS_BY_NAME = "progress";
/** Numbers that JSON has no word for. */
const INFINITE = "$infinite";

/** Takes out of one value after the other what may be secret, also where a later text repeats it. */
export class Redactor {
  readonly #secrets = new Set<string>();

  /** A copy without secrets. */
  redact(value: unknown): unknown {
    this.learn(value);
    return this.#clean(value, "");
  }

  /** Finds what may be secret in a value, so that it is known in the texts of others. */
  learn(value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.learn(item);
    else if (isTree(value))
      for (const [key, inner] of Object.entries(value)) {
        for (const secret of secretsOf(key, inner))
          if (secret.length >= MIN_SECRET_LENGTH && secret !== REDACTED) this.#secrets.add(secret);
        this.learn(inner);
      }
  }

  #clean(value: unknown, key: string): unknown {
    if (typeof value === "string") return TEXTS.has(key) ? this.#scrub(value) : value;
    if (Array.isArray(value)) {
      if (SECRET_LISTS.has(key)) return value.map(() => REDACTED);
      const inner = SECRET_PAIRS.has(key) ? value.map(withoutValue) : value;
      return inner.map((item) => this.#clean(item, ""));
    }
    if (!isTree(value)) return value;
    if (SECRET_MAPS.has(key))
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, isOwn(name) ? inner : REDACTED]),
      );
    if (key === TEXTS_BY_NAME)
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, this.#clean(inner, "message")]),
      );
    const entries = Object.entries(value).map(([name, inner]) => [
      name,
      // The termination message of a container.
      name === "message" && "exitCode" in value && inner !== ""
        ? REDACTED
        : this.#clean(inner, name),
    ]);
    return Object.fromEntries(entries);
  }

  #scrub(text: string): string {
    let clean = text;
    for (const secret of this.#secrets)
      if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
    return clean;
  }
}

/** Annotations that a kubelet writes: hash, source and time of a static pod. */
function isOwn(name: string): boolean {
  return name.startsWith("kubernetes.io/config.");
}

function secretsOf(key: string, value: unknown): readonly string[] {
  const strings = (values: readonly unknown[]) =>
    values.filter((one): one is string => typeof one === "string");
  if (SECRET_LISTS.has(key) && Array.isArray(value)) return strings(value);
  if (SECRET_MAPS.has(key) && isTree(value))
    return strings(Object.entries(value).flatMap(([name, inner]) => (isOwn(name) ? [] : [inner])));
  if (SECRET_PAIRS.has(key) && Array.isArray(value))
    return strings(value.map((pair) => (isTree(pair) ? pair["value"] : undefined)));
  return [];
}

function withoutValue(pair: unknown): unknown {
  return isTree(pair) && typeof pair["value"] === "string" ? { ...pair, value: REDACTED } : pair;
}

/** A line of a recording. */
export function encodeLine(
  value: FlightHeader | FlightStep | FlightNote,
  redactor: Redactor,
): string {
  const clean = value.kind === "header" ? value : redactor.redact(value);
  return `${JSON.stringify(clean, (_, inner: unknown) => (inner === Number.POSITIVE_INFINITY ? INFINITE : inner))}\n`;
}

/** Reads a recording; throws an `Error` that says what is wrong with which line. */
export function decodeFlight(text: string): Flight {
  const lines = text.split("\n").filter((line) => line !== "");
  const values = lines.map((line, i) => decodeLine(line, i + 1));
  const [header, ...rest] = values;
  if (header?.["kind"] !== "header") throw new Error("line 1: this is no recording of nodelet");
  if (header["format"] !== FLIGHT_FORMAT)
    throw new Error(
      `line 1: format ${String(header["format"])} is not ${FLIGHT_FORMAT}, which this version reads`,
    );
  const steps: FlightStep[] = [];
  const notes: FlightNote[] = [];
  for (const [i, value] of rest.entries()) {
    const { kind } = value;
    if (kind === "begin" || kind === "signal" || kind === "plan")
      steps.push(value as unknown as FlightStep);
    else if (kind === "decision" || kind === "event" || kind === "status")
      notes.push(value as unknown as FlightNote);
    else throw new Error(`line ${i + 2}: ${JSON.stringify(kind)} is no kind of step`);
  }
  return { header: header as unknown as FlightHeader, steps, notes };
}

function decodeLine(line: string, number: number): Tree {
  try {
    const value: unknown = JSON.parse(line, (_, inner: unknown) =>
      inner === INFINITE ? Number.POSITIVE_INFINITY : inner,
    );
    if (isTree(value)) return value;
  } catch {
    // The throw below reports it.
  }
  throw new Error(`line ${number}: this line is not valid JSON; the file may be cut off`);
}
