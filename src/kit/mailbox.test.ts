import assert from "node:assert/strict";
import { test } from "node:test";
import { Mailbox } from "./mailbox.ts";

async function settle(): Promise<void> {
  await new Promise(setImmediate);
}

/** A mailbox of words, of which those with the same first letter share a place but for "x", and the batches read from it. */
function world() {
  const mailbox = new Mailbox<string>({
    limit: 3,
    coalesce: (word) => (word[0] === "x" ? undefined : word[0]),
  });
  const batches: (readonly string[])[] = [];
  const leave = new AbortController();
  const reading = (async () => {
    for await (const batch of mailbox.batches(leave.signal)) batches.push(batch);
  })();
  const end = async () => {
    leave.abort();
    await reading;
  };
  return { mailbox, batches, end };
}

test("Mailbox hands over what arrived since the last read, the latest of each key", async () => {
  const { mailbox, batches, end } = world();
  for (const word of ["apple", "bean", "avocado"]) mailbox.post(word);
  await settle();
  mailbox.post("cherry");
  await settle();
  assert.deepEqual(batches, [["bean", "avocado"], ["cherry"]]);
  await end();
});

test("Mailbox keeps a quiet item until another one asks for a batch", async () => {
  const { mailbox, batches, end } = world();
  mailbox.post("apple", { isQuiet: true });
  await settle();
  assert.deepEqual(batches, []);
  mailbox.post("bean");
  await settle();
  assert.deepEqual(batches, [["apple", "bean"]]);
  mailbox.post("cherry", { isQuiet: true });
  await settle();
  assert.equal(batches.length, 1, "each batch is asked for again");
  mailbox.post("corn");
  await settle();
  assert.deepEqual(batches[1], ["corn"], "it is replaced like any other");
  await end();
});

test("Mailbox hands over a batch that was asked for though a quiet item has taken the place of the one that asked", async () => {
  const { mailbox, batches, end } = world();
  mailbox.post("apple");
  mailbox.post("avocado", { isQuiet: true });
  await settle();
  assert.deepEqual(batches, [["avocado"]]);
  await end();
});

test("Mailbox keeps the order of items with and without a key", async () => {
  const { mailbox, batches, end } = world();
  for (const word of ["x1", "apple", "x2", "bean", "avocado", "x1"]) mailbox.post(word);
  await settle();
  assert.deepEqual(batches, [["x1", "x2", "bean", "avocado", "x1"]]);
  await end();
});

test("Mailbox refuses more than its limit of items without a key, quiet ones included", async () => {
  const { mailbox, batches, end } = world();
  for (const word of ["x1", "x2", "x3"]) mailbox.post(word, { isQuiet: true });
  assert.throws(() => mailbox.post("x4"), /over its limit of 3 items/);
  for (const word of ["apple", "bean", "cherry", "date"]) mailbox.post(word);
  await settle();
  assert.deepEqual(batches, [["x1", "x2", "x3", "apple", "bean", "cherry", "date"]]);
  mailbox.post("x4");
  await settle();
  assert.deepEqual(batches[1], ["x4"]);
  await end();
});
