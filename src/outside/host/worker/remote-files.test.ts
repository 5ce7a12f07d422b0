import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../../kit/errors.ts";
import { createPodFiles, type RunInWorker } from "./remote-files.ts";

const FOLDERS = ["/near/a", "/dead/b", "/near/c"].map((path) => ({ path, mode: 0o750 }));

/** Requests, and their paths, of `makeDirectories` where a request about `/dead` fails with this code. */
async function requestsOf(code: "deadline" | "io"): Promise<readonly string[]> {
  const requests: string[] = [];
  const run = (async (operation, _, paths) => {
    requests.push(`${operation} ${paths.join(" ")}`);
    const dead = paths.find((path) => path.startsWith("/dead"));
    if (dead !== undefined) throw new OutsideError(code, `no ${dead}`);
  }) as RunInWorker;
  await assert.rejects(createPodFiles(run).makeDirectories(FOLDERS), /no \/dead\/b/);
  return requests;
}

test("makeDirectories: folders are asked for one by one when one file system does not answer", async () => {
  assert.deepEqual(await requestsOf("deadline"), [
    "files.makeDirectories /near/a /dead/b /near/c",
    "files.makeDirectory /near/a",
    "files.makeDirectory /dead/b",
  ]);
});

test("makeDirectories: an error that is answered is not asked for again", async () => {
  assert.deepEqual(await requestsOf("io"), ["files.makeDirectories /near/a /dead/b /near/c"]);
});
