import assert from "node:assert/strict";
import { test } from "node:test";
import { humanDuration } from "../api/text/human-duration.ts";
import { humanBytes, spokenDuration } from "./amounts.ts";

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

test("`humanDuration` writes ages as kubectl does", () => {
  const vectors: readonly (readonly [number, string])[] = [
    [-3 * S, "<invalid>"],
    [-1 * S, "0s"],
    [0, "0s"],
    [999, "0s"],
    [119 * S, "119s"],
    [2 * M, "2m"],
    [2 * M + 1 * S, "2m1s"],
    [9 * M + 59 * S, "9m59s"],
    [10 * M + 5 * S, "10m"],
    [179 * M, "179m"],
    [3 * H, "3h"],
    [3 * H + 15 * M, "3h15m"],
    [8 * H + 15 * M, "8h"],
    [47 * H, "47h"],
    [48 * H, "2d"],
    [49 * H, "2d1h"],
    [8 * D + 5 * H, "8d"],
    [729 * D, "729d"],
    [730 * D, "2y"],
    [735 * D, "2y5d"],
    [9 * 365 * D, "9y"],
  ];
  for (const [ms, text] of vectors) assert.equal(humanDuration(ms), text, `${ms} ms`);
});

test("`spokenDuration` is for sentences", () => {
  const vectors: readonly (readonly [number, string])[] = [
    [0, "0 s"],
    [440, "0.4 s"],
    [10 * S, "10 s"],
    [80 * S, "1 min 20 s"],
    [5 * M, "5 min"],
  ];
  for (const [ms, text] of vectors) assert.equal(spokenDuration(ms), text, `${ms} ms`);
});

test("`humanBytes` keeps three figures", () => {
  const vectors: readonly (readonly [number, string])[] = [
    [0, "0 B"],
    [999, "999 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [512 * 1024 ** 2, "512 MiB"],
    [23.54 * 1024 ** 3, "23.5 GiB"],
    [1000 * 1024, "1 MiB"],
  ];
  for (const [bytes, text] of vectors) assert.equal(humanBytes(bytes), text, `${bytes}`);
});
