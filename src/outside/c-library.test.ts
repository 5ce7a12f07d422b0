import assert from "node:assert/strict";
import { test } from "node:test";
import { loadCFunctions } from "./c-library.ts";

test("loadCFunctions gives functions that can be called, and none when one is missing", () => {
  const getpid = { arguments: [], return: "i32" } as const;
  assert.equal(loadCFunctions({ getpid })?.getpid(), process.pid);
  assert.equal(loadCFunctions({ getpid, no_such_function: getpid }), undefined);
});

test("loadCFunctions leaves warnings as they were", () => {
  const { emitWarning } = process;
  loadCFunctions({ no_such_function: { arguments: [], return: "i32" } });
  assert.equal(process.emitWarning, emitWarning);
});
