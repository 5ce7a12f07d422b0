import assert from "node:assert/strict";
import { test } from "node:test";
import { Signal } from "../../outside/cri/generated/api.ts";
import { signalName, signalNumber } from "./stop-signal.ts";

test("signalNumber: names of the API, and the runtime's own choice for all else", () => {
  assert.equal(signalNumber("SIGQUIT"), Signal.SIGQUIT);
  assert.equal(signalNumber("SIGRTMIN+3"), Signal.SIGRTMINPLUS3);
  assert.equal(signalNumber("SIGRTMAX-14"), Signal.SIGRTMAXMINUS14);
  for (const name of [undefined, "", "SIGNOT", "toString"])
    assert.equal(signalNumber(name), Signal.RUNTIME_DEFAULT);
});

test("signalName is the inverse of signalNumber", () => {
  const named = Object.values(Signal).flatMap((signal) => signalName(signal) ?? []);
  assert.equal(named.length, Object.keys(Signal).length - 1);
  for (const name of named) assert.equal(signalName(signalNumber(name)), name);
});
