import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { MAX_WAITING_BYTES } from "./line-sink.ts";

const base = mkdtempSync(join(tmpdir(), "nodelet-lines-"));
after(() => rmSync(base, { recursive: true }));

/** A program whose log goes to its standard error, and what reads that once it is asked to. */
interface Logging {
  readonly child: ChildProcess;
  readonly stderr: Readable;
}

const LOG = new URL("./log.ts", import.meta.url).href;

function start(script: string, stderr: "pipe" | number): ChildProcess {
  const program = `import { createLog } from ${JSON.stringify(LOG)};
    const log = createLog({ format: "json", verbosity: 0, fd: 2 });\n${script}`;
  return spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", stderr, "ipc"],
  });
}

let pipes = 0;
/** The kinds of standard error that an agent has: under systemd a socket, in a shell or a container a pipe. */
const KINDS: Readonly<Record<string, (script: string) => Logging>> = {
  socket: (script) => {
    const child = start(script, "pipe");
    assert.ok(child.stderr);
    return { child, stderr: child.stderr };
  },
  pipe: (script) => {
    pipes += 1;
    const path = join(base, String(pipes));
    execFileSync("mkfifo", [path]);
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writing = openSync(path, constants.O_WRONLY);
    const child = start(script, writing);
    closeSync(writing);
    return {
      child,
      stderr: new Socket({ fd, readable: true, writable: false }),
    };
  },
};

const LINES = 6_000;
/** Twice what may wait, in many turns of the event loop, and one line more. */
const STALLED = `
  const wide = "x".repeat(${Math.ceil((2 * MAX_WAITING_BYTES) / LINES)});
  let line = 0;
  const more = () => {
    for (let i = 0; i < 100; i += 1) log.info("reported", { line: line++, wide });
    if (line < ${LINES}) setImmediate(more);
    else process.send("written");
  };
  more();
  process.once("message", () => {
    log.info("last");
    process.disconnect();
  });
`;

interface Said {
  readonly msg: string;
  readonly level: string;
  readonly line?: number;
  readonly lines?: number;
}

const parsed = (output: string): readonly Said[] =>
  output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Said);

for (const [kind, run] of Object.entries(KINDS)) {
  test(`a ${kind} that nobody reads stops no turn of the event loop, and what is dropped is reported`, async () => {
    const { child, stderr } = run(STALLED);
    await new Promise((resolve, reject) => {
      child.once("message", resolve);
      child.once("exit", () => reject(new Error("the program ended")));
    });
    const output = text(stderr);
    let dropped = 0;
    const seen: Said[] = [];
    child.send("a reader is there");
    seen.push(...parsed(await output));
    for (const { msg, level, lines } of seen) {
      if (msg !== "dropped log lines that nobody read") continue;
      assert.equal(level, "warn");
      dropped += lines ?? 0;
    }
    const lines = seen.filter(({ msg }) => msg === "reported").map(({ line }) => line ?? -1);
    assert.ok(dropped > 0 && dropped < LINES, `${dropped} lines were dropped`);
    const last = seen.filter(({ msg }) => msg === "last").length;
    assert.equal(lines.length + last + dropped, LINES + 1, "lines were lost without a word");
    assert.deepEqual(
      lines,
      [...lines].sort((a, b) => a - b),
    );
  });

  for (const [how, end] of [
    ["at the end of the program", ""],
    ["at process.exit", "process.exit(0);"],
    ["at a fatal error", 'throw new Error("fatal");'],
  ] as const)
    test(`nothing is lost ${how} through a ${kind}`, async () => {
      const { stderr } = run(`for (let line = 0; line < 5_000; line += 1)
        log.info("reported", { line, wide: "x".repeat(100) });\n${end}`);
      const output = await text(stderr);
      const reported = output.split("\n").filter((line) => line.startsWith('{"level"'));
      assert.deepEqual(
        reported.map((line) => (JSON.parse(line) as Said).line),
        Array.from({ length: 5_000 }, (_, line) => line),
      );
    });
}
