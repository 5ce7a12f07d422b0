// What a command reads and writes, kept for assertions.
import { Readable, Writable } from "node:stream";
import type { Io } from "../../src/cli/io.ts";
import { plainPaint } from "../../src/present/text.ts";

export interface CapturedIo {
  readonly io: Io;
  text(): { readonly out: string; readonly err: string };
}

/** Surroundings without colours, with nothing to read and no environment. */
export function captureIo(env: Io["env"] = {}): CapturedIo {
  const text = { out: "", err: "" };
  const sink = (name: "out" | "err") =>
    new Writable({
      write(chunk, _, done) {
        text[name] += String(chunk);
        done();
      },
    });
  const io: Io = {
    stdin: Readable.from([]),
    stdout: sink("out"),
    stderr: sink("err"),
    env,
    cwd: "/",
    paint: plainPaint,
    now: () => 0,
  };
  return { io, text: () => ({ ...text }) };
}
