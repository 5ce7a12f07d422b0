/** Surroundings for commands: streams in memory. */
import { PassThrough } from "node:stream";
import type { Io } from "../../src/cli/io.ts";
import { plainPaint } from "../../src/present/text.ts";

/** Surroundings whose outputs can be read. */
export interface FakeIo extends Io {
  readonly stdin: PassThrough;
  /** What was written so far. */
  out(): string;
  err(): string;
}

/** New surroundings with the given environment. */
export function fakeIo(env: Io["env"] = {}): FakeIo {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const written = { out: "", err: "" };
  stdout.on("data", (chunk: Buffer) => {
    written.out += chunk.toString("utf8");
  });
  stderr.on("data", (chunk: Buffer) => {
    written.err += chunk.toString("utf8");
  });
  return {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env,
    cwd: "/",
    paint: plainPaint,
    now: () => 1_790_000_000_000,
    out: () => written.out,
    err: () => written.err,
  };
}
