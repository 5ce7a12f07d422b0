/** What a decoder is to the fuzzer: its inputs, and what may come of them. */

/** The class of an error. */
export type ErrorClass = abstract new (...args: never[]) => Error;

/** How inputs of a target are built, which decides how they are changed. */
export type Layout =
  /** Text of any kind. */
  | "text"
  /** JSON; changed as a tree of values, now and then as text. */
  | "json"
  /** Base64 of bytes of any kind. */
  | "bytes"
  /** Base64 of nested elements of tag, length and content (X.690). */
  | "der"
  /** Base64 of fields of protobuf. */
  | "protobuf"
  /** Base64 of a tar archive; sums of headers are put right after a change. */
  | "tar";

/** One decoder. */
export interface FuzzTarget {
  readonly name: string;
  readonly layout: Layout;
  /** Names of the files whose code is counted as covered, such as `api/text/yaml.ts`. */
  readonly files: readonly string[];
  /** Words of the format, put into inputs. */
  readonly words?: readonly string[];
  /** Inputs to start from; those of `corpus/<name>.json` come on top. */
  readonly seeds: readonly string[];
  /** Errors with which it refuses an input. Anything else that is thrown is a find. */
  readonly refuses?: readonly ErrorClass[];
  /** Share of the inputs of a run; 1 unless given. Decoders of large objects take less. */
  readonly share?: number;
  /** Decodes one input and checks what came of it. Layouts of bytes get them decoded. */
  readonly run: (input: never) => void;
}

/** A target of text or JSON. */
export function textTarget(
  target: Omit<FuzzTarget, "run" | "layout"> & {
    readonly layout?: "text" | "json";
    readonly run: (text: string) => void;
  },
): FuzzTarget {
  return { layout: "text", ...target };
}

/** A target of bytes; seeds are given as bytes. */
export function bytesTarget(
  target: Omit<FuzzTarget, "run" | "layout" | "seeds"> & {
    readonly layout?: Exclude<Layout, "text" | "json">;
    readonly seeds: readonly Uint8Array[];
    readonly run: (bytes: Uint8Array) => void;
  },
): FuzzTarget {
  const seeds = target.seeds.map((seed) => Buffer.from(seed).toString("base64"));
  return { layout: "bytes", ...target, seeds };
}
