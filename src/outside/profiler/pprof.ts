import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** A function of a call stack, as V8 names it. */
export interface ProfiledFrame {
  readonly functionName: string;
  /** The script's URL; empty for functions of the engine. */
  readonly url: string;
  /** Counted from 0, as V8 does; of the function's first line. */
  readonly lineNumber: number;
}

/** A call stack with what was measured there, one value for each type. */
export interface ProfiledStack {
  /** Innermost first. */
  readonly frames: readonly ProfiledFrame[];
  readonly values: readonly number[];
}

/** Type and unit of a profile's values. */
interface ValueType {
  /** `samples`, `cpu`, `inuse_space`, … */
  readonly type: string;
  /** `count`, `nanoseconds` or `bytes`. */
  readonly unit: string;
}

/** A profile, before it is written. */
export interface Profile {
  readonly types: readonly ValueType[];
  readonly stacks: readonly ProfiledStack[];
  /** Sampling period: so many of `unit`. */
  readonly period: ValueType & { readonly value: number };
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

const NANOS_PER_MS = 1_000_000n;
/** Field numbers of profile.proto (google/pprof). */
const FIELD = {
  sampleType: 1,
  sample: 2,
  location: 4,
  function: 5,
  string: 6,
  timeNanos: 9,
  durationNanos: 10,
  periodType: 11,
  period: 12,
} as const;

/** Writes a profile in the format of pprof (profile.proto), not compressed. */
export function encodeProfile(profile: Profile): Uint8Array {
  const writer = new ProfileWriter();
  for (const type of profile.types) writer.valueType(FIELD.sampleType, type);
  for (const stack of profile.stacks) writer.sample(stack);
  writer.valueType(FIELD.periodType, profile.period);
  return writer.finish(profile);
}

/** Functions, locations and texts are written once and referred to by number. */
class ProfileWriter {
  readonly #out = new BinaryWriter();
  readonly #tables = new BinaryWriter();
  readonly #strings = new Map<string, number>([["", 0]]);
  readonly #locations = new Map<string, number>();

  valueType(field: number, { type, unit }: ValueType): void {
    this.#out.uint32(tag(field, LENGTH)).fork();
    this.#out.uint32(tag(1, VARINT)).int64(this.#string(type));
    this.#out.uint32(tag(2, VARINT)).int64(this.#string(unit));
    this.#out.join();
  }

  sample({ frames, values }: ProfiledStack): void {
    const locations = frames.map((frame) => this.#location(frame));
    this.#out.uint32(tag(FIELD.sample, LENGTH)).fork();
    this.#out.uint32(tag(1, LENGTH)).fork();
    for (const location of locations) this.#out.uint64(location);
    this.#out.join();
    this.#out.uint32(tag(2, LENGTH)).fork();
    for (const value of values) this.#out.int64(Math.round(value));
    this.#out.join();
    this.#out.join();
  }

  finish({ startedAtMs, durationMs, period }: Profile): Uint8Array {
    this.#out.raw(this.#tables.finish());
    for (const text of this.#strings.keys())
      this.#out.uint32(tag(FIELD.string, LENGTH)).string(text);
    this.#out
      .uint32(tag(FIELD.timeNanos, VARINT))
      .int64(BigInt(Math.trunc(startedAtMs)) * NANOS_PER_MS);
    this.#out
      .uint32(tag(FIELD.durationNanos, VARINT))
      .int64(BigInt(Math.trunc(durationMs)) * NANOS_PER_MS);
    this.#out.uint32(tag(FIELD.period, VARINT)).int64(Math.round(period.value));
    return this.#out.finish();
  }

  #string(text: string): number {
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    const index = this.#strings.size;
    this.#strings.set(text, index);
    return index;
  }

  /** One location for each function: V8 says where a function begins, not which line of it ran. */
  #location(frame: ProfiledFrame): number {
    const file = fileOf(frame.url);
    const line = Math.max(0, frame.lineNumber + 1);
    const name = nameOf(frame, file, line);
    const key = `${name}\n${file}\n${line}`;
    const known = this.#locations.get(key);
    if (known !== undefined) return known;
    const id = this.#locations.size + 1;
    this.#locations.set(key, id);
    const out = this.#tables;
    out.uint32(tag(FIELD.function, LENGTH)).fork();
    out.uint32(tag(1, VARINT)).uint64(id);
    out.uint32(tag(2, VARINT)).int64(this.#string(name));
    out.uint32(tag(3, VARINT)).int64(this.#string(name));
    out.uint32(tag(4, VARINT)).int64(this.#string(file));
    out.uint32(tag(5, VARINT)).int64(line);
    out.join();
    out.uint32(tag(FIELD.location, LENGTH)).fork();
    out.uint32(tag(1, VARINT)).uint64(id);
    out.uint32(tag(4, LENGTH)).fork();
    out.uint32(tag(1, VARINT)).uint64(id);
    out.uint32(tag(2, VARINT)).int64(line);
    out.join();
    out.join();
    return id;
  }
}

const VARINT = 0;
const LENGTH = 2;

function tag(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

function fileOf(url: string): string {
  return url.startsWith("file://") ? decodeURI(url.slice("file://".length)) : url;
}

/** pprof adds up what has the same name: a function without one gets its place. */
function nameOf({ functionName }: ProfiledFrame, file: string, line: number): string {
  if (functionName !== "") return functionName;
  return `(anonymous ${file.slice(file.lastIndexOf("/") + 1)}:${line})`;
}
