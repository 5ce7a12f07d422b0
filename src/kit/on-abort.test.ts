import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { onAbort } from "./on-abort.ts";

test("onAbort calls everyone that still waits, in order and once, by one listener", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  const call = () => void called.push("same");
  onAbort(signal, () => void called.push("first"));
  const forget = onAbort(signal, () => void called.push("forgotten"));
  onAbort(signal, call);
  const forgetOne = onAbort(signal, call);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  forget();
  forget();
  forgetOne();
  controller.abort();
  assert.deepEqual(called, ["first", "same"]);
  onAbort(signal, () => void called.push("too late"));
  assert.equal(called.length, 2);
});

test("onAbort: whom one that is called takes away or adds is not called", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  let forgetThird = () => {};
  onAbort(signal, () => {
    called.push("first");
    forgetThird();
    onAbort(signal, () => void called.push("added"));
  });
  onAbort(signal, () => void called.push("second"));
  forgetThird = onAbort(signal, () => void called.push("third"));
  controller.abort();
  assert.deepEqual(called, ["first", "second"]);
});

test("onAbort: coming and going costs the same however many wait", () => {
  const { signal } = new AbortController();
  const waiting = Array.from({ length: 20_000 }, () => onAbort(signal, () => {}));
  // With a list that is walked this would be hundreds of millions of steps.
  for (const forget of waiting.toReversed()) forget();
  assert.equal(getEventListeners(signal, "abort").length, 1);
});
