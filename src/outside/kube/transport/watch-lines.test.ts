import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../../kit/errors.ts";
import { MAX_LINE_BYTES } from "./json-lines.ts";
import { WatchLines } from "./watch-lines.ts";

function lines() {
  const calls: string[] = [];
  const watch = new WatchLines({
    pause: () => void calls.push("pause"),
    resume: () => void calls.push("resume"),
    cancel: () => void calls.push("cancel"),
  });
  return { watch, calls, push: (text: string) => watch.push(Buffer.from(text)) };
}

async function rest(watch: WatchLines): Promise<string[]> {
  const all: string[] = [];
  for await (const line of watch) all.push(line);
  return all;
}

test("WatchLines gives lines in order, whoever is first, and a last one without an end", async () => {
  const { watch, push } = lines();
  const first = watch.next();
  push("a\nb\n\nc");
  assert.deepEqual(await first, { done: false, value: "a" });
  push("d\ne");
  watch.finish();
  assert.deepEqual(await rest(watch), ["b", "cd", "e"]);
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
});

test("WatchLines does not keep the memory of a piece", async () => {
  const { watch } = lines();
  const piece = Buffer.from("one\ntwo");
  watch.push(piece);
  piece.fill("x");
  watch.finish();
  assert.deepEqual(await rest(watch), ["one", "two"]);
});

test("WatchLines holds the server while nobody reads, and lets it go on when all is read", async () => {
  const { watch, calls, push } = lines();
  const line = "x".repeat(100 * 1024);
  push(`${line}\n${line}\n`);
  assert.deepEqual(calls, []);
  push(`${line}\n`);
  push("last\n");
  assert.deepEqual(calls, ["pause"]);
  for (let read = 0; read < 3; read += 1) await watch.next();
  assert.deepEqual(calls, ["pause"]);
  assert.equal((await watch.next()).value, "last");
  assert.deepEqual(calls, ["pause", "resume"]);
});

test("WatchLines that are stopped end after the last whole line", async () => {
  const { watch, push } = lines();
  push("a\nb");
  watch.stop();
  push("c\n");
  watch.finish(new Error("too late"));
  assert.deepEqual(await rest(watch), ["a"]);
});

test("WatchLines throws once, after what has come, or at once when it is aborted", async () => {
  const [broken, aborted] = [lines(), lines()];
  for (const { push } of [broken, aborted]) push("a\npart");
  broken.watch.finish(new Error("broken"));
  assert.equal((await broken.watch.next()).value, "a");
  await assert.rejects(broken.watch.next(), /broken/);
  assert.equal((await broken.watch.next()).done, true);
  aborted.watch.abort(new Error("aborted"));
  await assert.rejects(aborted.watch.next(), /aborted/);

  const waiting = lines();
  const next = waiting.watch.next();
  waiting.watch.abort(new Error("aborted"));
  await assert.rejects(next, /aborted/);
});

test("WatchLines lets a reader leave, and has one reader", async () => {
  const { watch, calls, push } = lines();
  push("a\nb\n");
  for await (const line of watch) {
    assert.equal(line, "a");
    break;
  }
  assert.deepEqual(calls, ["cancel"]);
  assert.equal((await watch.next()).done, true);
  push("c\n");
  assert.equal((await watch.next()).done, true);

  const other = lines();
  const first = other.watch.next();
  await assert.rejects(other.watch.next(), /one reader/);
  other.push("a\n");
  assert.equal((await first).value, "a");
});

test("WatchLines refuses a line that is too long", () => {
  const { watch } = lines();
  const piece = Buffer.alloc(MAX_LINE_BYTES / 2, "x");
  watch.push(piece);
  watch.push(piece);
  assert.throws(
    () => watch.push(Buffer.from("x")),
    (error) => error instanceof OutsideError && error.code === "invalid",
  );
});
