import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Log, LogFields } from "../../kit/log.ts";
import { createLog, type LogOptions } from "./log.ts";

/** What is written to a file by `use`. */
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
    const json = written({ format: "json", verbosity: 2 }, (log) => log.warn("said", fields));
    const { level, ts, msg, ...rest } = JSON.parse(json) as Record<string, unknown>;
    assert.deepEqual([level, msg, rest], ["warn", "said", expected]);
    assert.equal(typeof ts, "number");
    const text = written({ format: "text", verbosity: 2 }, (log) => log.warn("said", fields));
    const pairs = Object.entries(expected).map(
      ([key, value]) => ` ${key}=${JSON.stringify(value)}`,
    );
    assert.ok(text.endsWith(`nodelet] "said"${pairs.join("")}\n`), text);
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
