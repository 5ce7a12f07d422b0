import type { Readable, Writable } from "node:stream";

/** Standard input, with its terminal where it is one. */
type InputStream = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(on: boolean): unknown;
};

/** Standard output, with its terminal where it is one. */
export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The standard streams of a process. */
export interface TerminalStreams {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}
