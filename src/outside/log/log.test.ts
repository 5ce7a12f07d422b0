import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Log, LogFields } from "../../kit/log.ts";
import { createLog, type LogOptions, type OwnLog } from "./log.ts";

/** Runs `use` and returns the log lines it wrote. */
function written(options: Omit<LogOptions, "fd">, use: (log: Log) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-log-"));
  const path = join(folder, "log");
  const fd = openSync(path, "w");
  try {
    const log = createLog({ ...options, fd });
    use(log);
    log.flush();
    return readFileSync(path, "utf8");
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
}

const VECTORS: readonly (readonly [string, LogFields, Readonly<Record<string, unknown>>])[] = [
  ["an error", { path: "/a", error: new Error("no disk") }, { path: "/a", err: "no disk" }],
  ["a text", { error: "no disk" }, { err: "no disk" }],
  ["anything that was thrown", { error: 7 }, { err: "7" }],
  ["nothing", { path: "/a" }, { path: "/a" }],
];

for (const [name, fields, expected] of VECTORS)
  test(`createLog: ${name} that is wrong is written as err, in both formats`, () => {
    const json = written({ format: "json", verbosity: 2 }, (log) => log.warn("reported", fields));
    const { level, ts, msg, ...rest } = JSON.parse(json) as Record<string, unknown>;
    assert.deepEqual([level, msg, rest], ["warn", "reported", expected]);
    assert.equal(typeof ts, "number");
    const text = written({ format: "text", verbosity: 2 }, (log) => log.warn("reported", fields));
    const pairs = Object.entries(expected).map(
      ([key, value]) => ` ${key}=${JSON.stringify(value)}`,
    );
    assert.ok(text.endsWith(`nodelet] "reported"${pairs.join("")}\n`), text);
  });

test("createLog: where errors come from is written from verbosity 4 on", () => {
  const stackAt = (verbosity: number) => {
    const line = written({ format: "json", verbosity }, (log) =>
      log.error("failed", { error: new Error("no disk") }),
    );
    return (JSON.parse(line) as { readonly stack?: string }).stack;
  };
  assert.equal(stackAt(3), undefined);
  assert.match(stackAt(4) ?? "", /^Error: no disk\n {4}at /);
});

test("createLog: lines above the verbosity are not written", () => {
  const text = written({ format: "text", verbosity: 2 }, (log) => {
    log.verbose(3, "three");
    log.verbose(2, "two");
    log.info("zero");
  });
  assert.deepEqual(
    [...text.matchAll(/"(\w+)" ?v?/g)].map(([, word]) => word),
    ["two", "zero"],
  );
  const enabled: number[] = [];
  written({ format: "text", verbosity: 2 }, (log) => {
    for (const level of [1, 2, 3]) if (log.enabled(level)) enabled.push(level);
  });
  assert.deepEqual(enabled, [1, 2]);
});

const HEADER = /^([IWE])\d{4} \d{2}:\d{2}:\d{2}\.\d{6} +\d+ (\S+\] .*)$/;

test("createLog: a text line has klog's header, the message and each field as JSON", () => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const text = written({ format: "text", verbosity: 2 }, (log) => {
    log.info("agent is running", { version: "v1", pods: 3, of: undefined });
    const child = log.child("pod", { pod: "default/web" });
    child.warn('a "quoted" text\nof two lines', { list: ["a", { b: 1 }], pod: "default/other" });
    child.child("probe").error("failed", { error: new Error("no answer"), code: null });
    log.info("odd values", { big: 12n, circular });
  });
  const lines = text.split("\n").slice(0, -1);
  assert.deepEqual(
    lines.map((line) => HEADER.exec(line)?.slice(1).join(" ")),
    [
      'I nodelet] "agent is running" version="v1" pods=3',
      'W pod] "a \\"quoted\\" text\\nof two lines" pod="default/other" list=["a",{"b":1}]',
      'E probe] "failed" pod="default/web" code=null err="no answer"',
      'I nodelet] "odd values" big="12" circular="[object Object]"',
    ],
  );
});

test("createLog: a child's fields stand in the lines of the JSON layout", () => {
  const json = written({ format: "json", verbosity: 0 }, (log) =>
    log.child("pod", { pod: "default/web" }).info("started", { container: "main" }),
  );
  const { ts: _, ...fields } = JSON.parse(json) as Record<string, unknown>;
  assert.deepEqual(fields, {
    level: "info",
    logger: "pod",
    pod: "default/web",
    v: 0,
    container: "main",
    msg: "started",
  });
});

test("createLog: the verbosity can be changed, and single loggers have one of their own", () => {
  const loggers = [
    { pattern: "pod*", verbosity: 4 },
    { pattern: "k?be", verbosity: 0 },
  ];
  const text = written({ format: "text", verbosity: 2, loggers }, (log) => {
    const kube = log.child("kube");
    const pods = log.child("pods");
    pods.verbose(4, "pods4");
    kube.verbose(1, "kube1");
    log.verbose(3, "three");
    (log as OwnLog).verbosity.set(3);
    log.verbose(3, "threeNow");
    kube.verbose(1, "kube1");
    (log as OwnLog).verbosity.set(0);
    log.verbose(1, "one");
    pods.verbose(4, "pods4Still");
  });
  assert.deepEqual(
    [...text.matchAll(/\] "(\w+)"/g)].map(([, word]) => word),
    ["pods4", "threeNow", "pods4Still"],
  );
});

for (const format of ["text", "json"] as const)
  test(`createLog: with a stream of its own, what is no error is gathered and written in time, as ${format}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "nodelet-log-"));
    const [path, infoPath] = [join(folder, "log"), join(folder, "info")];
    const [fd, infoFd] = [openSync(path, "w"), openSync(infoPath, "w")];
    try {
      const info = { fd: infoFd, bufferBytes: 100_000, flushMs: 20 };
      const log = createLog({ format, verbosity: 0, fd, info });
      log.child("pod").info("informed");
      log.warn("warned");
      log.error("failed");
      await new Promise(setImmediate);
      assert.match(readFileSync(path, "utf8"), /failed/);
      assert.doesNotMatch(readFileSync(path, "utf8"), /informed|warned/);
      while (!readFileSync(infoPath, "utf8").includes("warned"))
        await new Promise((resolve) => setTimeout(resolve, 5));
      assert.match(readFileSync(infoPath, "utf8"), /informed[\s\S]*warned/);
      assert.doesNotMatch(readFileSync(infoPath, "utf8"), /failed/);
    } finally {
      closeSync(fd);
      closeSync(infoFd);
      rmSync(folder, { recursive: true });
    }
  });
