import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../../kit/clock.ts";
import type { FolderEvent } from "../../outside/host/host.ts";
import { RecreatedFiles } from "./recreated-files.ts";

/** Events as text: a name that came, went or was replaced, `name!` for a change of its content. */
const eventsOf = (text: string): readonly FolderEvent[] =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) =>
      word.endsWith("!")
        ? { kind: "content", name: word.slice(0, -1) }
        : { kind: "entry", name: word },
    );

const setOf = (text: string) => new Set(text.split(" ").filter((word) => word !== ""));

interface Case {
  readonly what: string;
  readonly events: string;
  /** Names in the folder before, and now where they differ. */
  readonly before: string;
  readonly now?: string;
  readonly recreated: string;
}

const CASES: readonly Case[] = [
  { what: "nothing", events: "", before: "a", recreated: "" },
  { what: "rm a; cp x a", events: "a a a!", before: "a", recreated: "a" },
  { what: "mv a /elsewhere; mv /elsewhere/a .", events: "a a", before: "a", recreated: "a" },
  { what: "rm a b; cp x/* .", events: "a b a a! b b!", before: "a b", recreated: "a b" },
  { what: "mv a b /elsewhere and back", events: "a b a b", before: "a b", recreated: "a b" },
  { what: "written in place", events: "a! a!", before: "a", recreated: "" },
  {
    what: "saved by renaming a temporary file",
    events: ".t .t! .t a",
    before: "a",
    recreated: "",
  },
  { what: "so saved twice", events: ".t .t! .t a .t .t! .t a", before: "a", recreated: "" },
  { what: "saved by a file from elsewhere", events: "a", before: "a", recreated: "" },
  {
    what: "an editor that renames the old file to a backup first",
    events: "4913 4913! 4913 a a~ a a! a~",
    before: "a",
    recreated: "",
  },
  {
    what: "a file from elsewhere, and then a backup by renaming, read at once",
    events: "a a a~ a a! a~",
    before: "a",
    recreated: "",
  },
  {
    what: "rm a; cp x a; cp x b",
    events: "a a a! b b!",
    before: "a",
    now: "a b",
    recreated: "a",
  },
  { what: "sed -i", events: "sedX sedX! sedX a", before: "a", recreated: "" },
  { what: "a new file", events: "a a! a!", before: "", now: "a", recreated: "" },
  {
    what: "a new file, deleted and made again",
    events: "a a a",
    before: "",
    now: "a",
    recreated: "",
  },
  { what: "deleted for good", events: "a", before: "a", now: "", recreated: "" },
];

for (const { what, events, before, now = before, recreated } of CASES) {
  test(`RecreatedFiles: ${what}`, () => {
    const names = { before: setOf(before), now: setOf(now) };
    const found = new RecreatedFiles().take(eventsOf(events), names, 0 as MonotonicMs);
    assert.deepEqual([...found].toSorted(), [...setOf(recreated)]);
  });
}

test("RecreatedFiles: what happened to another name long before is no part of a rename", () => {
  const names = { before: setOf("a"), now: setOf("a") };
  const files = new RecreatedFiles();
  assert.equal(files.take(eventsOf("a a~ a a! a~"), names, 0 as MonotonicMs).size, 0);
  assert.deepEqual([...files.take(eventsOf("a a a!"), names, 1000 as MonotonicMs)], ["a"]);
});

for (const all of ["4913 4913! 4913 a a~ a a! a~", "a a~ a a! a~"])
  test(`RecreatedFiles: ${all}, reported in two parts, wherever it is cut`, () => {
    const names = { before: setOf("a"), now: setOf("a") };
    const words = all.split(" ");
    for (let cut = 1; cut < words.length; cut += 1) {
      const files = new RecreatedFiles();
      const found = [words.slice(0, cut), words.slice(cut)].flatMap((part, i) => [
        ...files.take(eventsOf(part.join(" ")), names, (i * 100) as MonotonicMs),
      ]);
      assert.deepEqual(found, [], `cut before ${words[cut]}`);
    }
  });

test("RecreatedFiles: halves of a pair that are taken one after the other, but not long after", () => {
  const names = { before: setOf("a"), now: setOf("a") };
  for (const [pause, expected] of [
    [400, ["a"]],
    [600, []],
  ] as const) {
    const files = new RecreatedFiles();
    assert.equal(files.take(eventsOf("a"), names, 0 as MonotonicMs).size, 0);
    assert.deepEqual([...files.take(eventsOf("a a!"), names, pause as MonotonicMs)], expected);
  }
});
