import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isOutside } from "../../../kit/errors.ts";
import { createPrograms } from "./programs.ts";

/** Processes whose arguments name the text. */
const running = (text: string) =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });

test("createPrograms: one that takes too long is killed with what it has started, and keeps none waiting", async () => {
  const programs = createPrograms({ atOnce: 1, limitMs: 300 });
  const mark = `300.${process.pid}`;
  const late = programs.run("sh", ["-c", `sleep ${mark} & sleep ${mark}`]);
  const next = programs.attempt("sh", ["-c", "echo fine; exit 3"]);
  await assert.rejects(late, (error) => {
    assert.ok(isOutside(error, "deadline"));
    assert.match(error.message, /^sh -c sleep .*: not done within 0\.3 s$/);
    return true;
  });
  assert.deepEqual(await next, { code: 3, end: "exit code 3", words: "fine" });
  for (let tries = 0; tries < 100 && running(mark).length > 0; tries += 1) await sleep(20);
  assert.deepEqual(running(mark), []);
});

test("createPrograms: a program that is not there, and one that fails", async () => {
  const programs = createPrograms({ limitMs: 10_000 });
  await assert.rejects(programs.run("no-such-program", []), (error) =>
    isOutside(error, "unimplemented"),
  );
  await assert.rejects(programs.run("sh", ["-c", "echo why >&2; exit 2"]), /exit 2: why$/);
});
