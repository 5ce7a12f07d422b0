import assert from "node:assert/strict";
import { test } from "node:test";
import { Mailbox } from "./mailbox.ts";

async function settle(): Promise<void> {
  await new Promise(setImmediate);
}

/** A mailbox of words, of which those with the same first letter share a place, and the batches read from it. */
function world() {
  const mailbox = new Mailbox<string>({ limit: 3, coalesce: (word) => word[0] });
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
  assert.equal(batches.length, 1, "each batch is asked for anew");
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

test("Mailbox refuses more than its limit, quiet items included", async () => {
  const { mailbox, end } = world();
  for (const word of ["apple", "bean", "cherry"]) mailbox.post(word, { isQuiet: true });
  assert.throws(() => mailbox.post("date"), /over its limit of 3 items/);
  await end();
});
