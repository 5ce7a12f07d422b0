import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { followFiles } from "./file-source.ts";

const FOLDER = "/manifests";
const EVERY_MS = 20_000;

/** A folder that is followed: two plain manifests and a link to a third; `read` has what was read since the last look. */
async function startSource(onFactsOfAll: (paths: readonly string[]) => void = () => {}) {
  const clock = new SimClock();
  const { files } = new FakeHost({ clock, cgroupVersion: 2 });
  const leave = new AbortController();
  const read: string[] = [];
  await files.makeDirectory("/elsewhere", 0o755);
  await files.makeDirectory(FOLDER, 0o755);
  for (const path of [`${FOLDER}/a`, `${FOLDER}/b`, "/elsewhere/c"])
    await files.writeAtomic(path, "first", 0o600);
  await files.link("/elsewhere/c", `${FOLDER}/c`);
  const ended = followFiles(
    { path: FOLDER, everyMs: EVERY_MS },
    {
      files,
      podFiles: {
        factsOfAll: async (paths) => {
          onFactsOfAll(paths);
          return await files.factsOfAll(paths);
        },
      },
      clock,
      log: silentLog,
      readManifest: (text, _source, origin) => {
        read.push(`${origin.slice(FOLDER.length + 1)} ${text}`);
        return { kind: "pods", pods: [] };
      },
      onChange: () => {},
      onRead: () => {},
    },
    leave.signal,
  );
  const later = async () => {
    await clock.advance(EVERY_MS);
    return read.splice(0);
  };
  await clock.settle();
  assert.deepEqual(read.splice(0), ["a first", "b first", "c first"]);
  return {
    files,
    later,
    stop: async () => {
      leave.abort(new Error("leaving"));
      await ended;
    },
  };
}

test("followFiles: what has not changed is not read again, whoever says so", async () => {
  const asked: (readonly string[])[] = [];
  const { files, later, stop } = await startSource((paths) => asked.push(paths));
  assert.deepEqual(await later(), []);
  assert.deepEqual(asked.at(-1), [`${FOLDER}/a`, `${FOLDER}/b`, `${FOLDER}/c`]);
  await files.writeAtomic(`${FOLDER}/a`, "second", 0o600);
  assert.deepEqual(await later(), ["a second"]);
  await files.writeAtomic("/elsewhere/c", "behind the link", 0o600);
  assert.deepEqual(await later(), ["c behind the link"]);
  await files.remove(`${FOLDER}/b`);
  await files.writeAtomic(`${FOLDER}/d`, "new", 0o600);
  assert.deepEqual(await later(), ["d new"]);
  await stop();
});

test("followFiles: when they cannot be asked for at once, each is looked at", async () => {
  const { files, later, stop } = await startSource(() => {
    throw new OutsideError("deadline", "no answer");
  });
  assert.deepEqual(await later(), []);
  await files.writeAtomic(`${FOLDER}/b`, "second", 0o600);
  assert.deepEqual(await later(), ["b second"]);
  await stop();
});
