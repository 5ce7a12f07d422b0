// A run that is asked to end takes along all that it has started, also what went into a session of its own.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = join(import.meta.dirname, "../..");
const LIMIT_MS = 90_000;

/** Processes whose environment has `name=value`; what they start has it as well. */
function processesWith(name: string, value: string): readonly string[] {
  return readdirSync("/proc").filter((id) => {
    if (!/^\d+$/.test(id) || Number(id) === process.pid) return false;
    try {
      const variables = readFileSync(`/proc/${id}/environ`, "utf8").split("\0");
      return variables.includes(`${name}=${value}`);
    } catch {
      return false;
    }
  });
}

const commandOf = (id: string) => {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
};

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `${what}: not within ${LIMIT_MS / 1000} s`);
    await sleep(20);
  }
}

/** A program in a session of its own, all of whose children can be recognized by their environment. */
function start(name: string, argv: readonly string[], program = process.execPath) {
  const value = `${process.pid}-${performance.now()}`;
  const child = spawn(program, argv, {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, [name]: value },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const closed = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal })),
  );
  return { child, closed, output: () => output, running: () => processesWith(name, value) };
}

const signals: readonly [NodeJS.Signals, (child: ChildProcess) => void][] = [
  ["SIGTERM", (child) => child.kill("SIGTERM")],
  // As a terminal does it: to all of the group in the foreground, and npm hands it down once more.
  [
    "SIGINT",
    (child) => {
      process.kill(-(child.pid ?? 0), "SIGINT");
      child.kill("SIGINT");
    },
  ],
];

for (const [name, send] of signals)
  test(`run-tests, ended by ${name}, leaves no process of a test running`, async () => {
    const run = start("INTERRUPT_TEST", [
      join(ROOT, "tools/run-tests.mjs"),
      ...["--only", "long", "test/cli/processes"],
    ]);
    const isTest = (id: string) => commandOf(id).includes("--test-reporter");
    await until("a test file runs", () => run.running().some(isTest));
    send(run.child);
    const { code } = await run.closed;
    assert.deepEqual(run.running().map(commandOf), []);
    assert.equal(code, 1, run.output());
    assert.match(run.output(), /ending what this run has started\n/);
    assert.match(run.output(), /interrupted: not everything was run\n\n\d+ passed, /);
  });

test("npm, ended by SIGTERM, takes along the mutants of its script, which have sessions of their own", async () => {
  const run = start("INTERRUPT_TEST", ["run", "--silent", "mutants"], "npm");
  await until("it runs", () =>
    run.running().some((id) => commandOf(id).includes("play-tests.mjs")),
  );
  run.child.kill("SIGTERM");
  await run.closed;
  await until("all is gone", () => run.running().length === 0);
});

test("every script of package.json takes the place of the shell in which npm starts it", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  for (const [name, script] of Object.entries(scripts)) assert.match(script, /^exec node /, name);
});

test("the tests of a mutant end with the run, though they have a session of their own", async () => {
  const script = `
    import { leaveOnSignal } from ${JSON.stringify(join(ROOT, "tools/setup/end-left.mjs"))};
    import { runMutant } from ${JSON.stringify(join(ROOT, "tools/mutants/run-mutant.ts"))};
    const leave = leaveOnSignal();
    const run = runMutant(["test/cli/processes.test.ts"], undefined);
    await new Promise((aborted) => leave.signal.addEventListener("abort", aborted));
    await leave.endLeft();
    process.exit(3);`;
  const run = start("INTERRUPT_TEST", ["--input-type=module", "-e", script]);
  await until("it runs", () =>
    run.running().some((id) => commandOf(id).includes("play-tests.mjs")),
  );
  run.child.kill("SIGTERM");
  assert.deepEqual(await run.closed, { code: 3, signal: null }, run.output());
  assert.deepEqual(run.running().map(commandOf), []);
});

test("a process that left its session and lost its parent is ended, too", async () => {
  const script = `
    import { spawnSync } from "node:child_process";
    import { readFileSync } from "node:fs";
    import { endLeft, markRun, startedBy } from ${JSON.stringify(join(ROOT, "tools/setup/end-left.mjs"))};
    const mark = markRun();
    spawnSync("sh", ["-c", "setsid sleep 1007 >/dev/null 2>&1 & setsid setsid sleep 1008 >/dev/null 2>&1 &"]);
    const commandOf = (id) => {
      try {
        return readFileSync("/proc/" + id + "/cmdline", "utf8");
      } catch {
        return "";
      }
    };
    // A shell that is not yet replaced by its last command is one of those that were started, too.
    const sleeps = () => startedBy(process.pid, mark).filter(({ id }) => commandOf(id).startsWith("sleep"));
    let found = [];
    while (found.length < 2) {
      await new Promise((wait) => setTimeout(wait, 10));
      found = sleeps();
    }
    console.log(found.length);
    await endLeft({ mark, known: [], graceMs: 100 });`;
  const run = start("INTERRUPT_TEST", ["--input-type=module", "-e", script]);
  await run.closed;
  assert.match(run.output(), /^2\n$/);
  assert.deepEqual(run.running().map(commandOf), []);
});

test("setup, ended while a command runs, ends that command and all of its group, and then itself by the signal", async () => {
  const script = `
    import { endBy, Interrupted, runQuietly } from ${JSON.stringify(join(ROOT, "tools/setup/progress.mjs"))};
    const stubborn = "trap '' TERM; sleep 1009; sleep 1010";
    try {
      await runQuietly("building", ["sh", "-c", "sleep 1011 & sh -c \\"" + stubborn + "\\" & wait"]);
    } catch (error) {
      if (error instanceof Interrupted) endBy(error.signal);
    }`;
  const run = start("INTERRUPT_TEST", ["--input-type=module", "-e", script]);
  const sleeps = () => run.running().filter((id) => commandOf(id).startsWith("sleep"));
  await until("the command runs", () => sleeps().length === 2);
  run.child.kill("SIGTERM");
  const { signal } = await run.closed;
  assert.equal(signal, "SIGTERM", run.output());
  assert.deepEqual(run.running().map(commandOf), []);
});

test("a package tool is signalled alone, and may finish what it has begun", async () => {
  const script = `
    import { Interrupted, runQuietly } from ${JSON.stringify(join(ROOT, "tools/setup/progress.mjs"))};
    const tool = "trap '' INT; sh -c 'sleep 1; echo unpacked >&3' 3>&1; echo finished";
    const onLine = (text) => process.stdout.write(text);
    await runQuietly("installing", ["sh", "-c", "echo begun; " + tool], { gently: true, onLine })
      .catch((error) => console.log(error instanceof Interrupted, error.signal));`;
  const run = start("INTERRUPT_TEST", ["--input-type=module", "-e", script]);
  await until("it has begun", () => run.output().includes("begun"));
  run.child.kill("SIGTERM");
  await run.closed;
  assert.match(run.output(), /begun\nunpacked\nfinished\n.*true SIGTERM\n/s);
});
