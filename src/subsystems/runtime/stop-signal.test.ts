import assert from "node:assert/strict";
import { test } from "node:test";
import { Signal } from "../../outside/cri/generated/api.ts";
import { signalName, signalNumber } from "./stop-signal.ts";

test("signalNumber: names of the API, and the runtime's own choice for all else", () => {
  assert.equal(signalNumber("SIGQUIT"), Signal.SIGNAL_SIGQUIT);
  assert.equal(signalNumber("SIGRTMIN+3"), Signal.SIGNAL_SIGRTMINPLUS3);
  assert.equal(signalNumber("SIGRTMAX-14"), Signal.SIGNAL_SIGRTMAXMINUS14);
  for (const name of [undefined, "", "SIGNOT", "toString"])
    assert.equal(signalNumber(name), Signal.SIGNAL_RUNTIME_DEFAULT);
});

test("signals have the numbers of CRI, whatever their names there", () => {
  assert.deepEqual(
    ["SIGABRT", "SIGTERM", "SIGRTMIN+15", "SIGRTMAX"].map(signalNumber),
    [1, 23, 50, 65],
  );
  assert.equal(signalName(0), undefined);
});

test("signalName is the inverse of signalNumber", () => {
  const named = Object.values(Signal).flatMap((signal) => signalName(signal) ?? []);
  assert.equal(named.length, Object.keys(Signal).length - 1);
  for (const name of named) assert.equal(signalName(signalNumber(name)), name);
});
