import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { followFiles } from "./file-source.ts";
import { manifestReader } from "./manifest.ts";

const FOLDER = "/manifests";
const EVERY_MS = 20_000;

/** A folder that is followed: two plain manifests and a link to a third; `read` has what was read since the last call. */
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

test("followFiles: when they cannot be requested at once, each is read", async () => {
  const { files, later, stop } = await startSource(() => {
    throw new OutsideError("deadline", "no answer");
  });
  assert.deepEqual(await later(), []);
  await files.writeAtomic(`${FOLDER}/b`, "second", 0o600);
  assert.deepEqual(await later(), ["b second"]);
  await stop();
});

const POD = (label: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { is: label } },
    spec: { containers: [{ name: "a", image: "i:1" }] },
  });

/** What was reported last: labels of pods by origin, problems, origins that were recreated. */
interface Reported {
  readonly pods: readonly string[];
  readonly problems: readonly string[];
  readonly recreated: readonly string[];
}

/** Follows a path on a machine whose wall clock stands still. */
async function follow(path: string, prepare: (files: FakeHost["files"]) => Promise<void>) {
  const clock = new SimClock();
  const { files } = new FakeHost({ clock, cgroupVersion: 2 });
  await prepare(files);
  const leave = new AbortController();
  const reports: Reported[] = [];
  const ended = followFiles(
    { path, everyMs: EVERY_MS },
    {
      files,
      podFiles: files,
      clock,
      log: silentLog,
      readManifest: manifestReader("node", () => "now"),
      onChange: (pods, problems, recreated) =>
        reports.push({
          pods: pods?.map(({ origin, pod }) => `${origin} ${pod.metadata.labels?.["is"]}`) ?? [
            "not known",
          ],
          problems: problems.map(({ origin, message }) => `${origin} ${message}`),
          recreated: [...recreated],
        }),
      onRead: () => {},
    },
    leave.signal,
  );
  await clock.settle();
  return {
    files,
    clock,
    /** The last report after the change, and what all since had recreated. */
    after: async (change: () => Promise<void>, ms = 0) => {
      reports.splice(0, reports.length - 1);
      await change();
      await clock.settle();
      if (ms > 0) await clock.advance(ms);
      const last = reports.at(-1) ?? assert.fail("nothing was reported");
      return { ...last, recreated: reports.flatMap(({ recreated }) => recreated) };
    },
    stop: async () => {
      leave.abort(new Error("leaving"));
      await ended;
    },
  };
}

test("followFiles: a file is known by more than its size and time", async () => {
  const source = await follow(FOLDER, async (files) => {
    await files.makeDirectory(FOLDER, 0o755);
    for (const name of ["d", "e"]) {
      await files.makeDirectory(`/elsewhere/${name}`, 0o755);
      await files.writeAtomic(`/elsewhere/${name}/web`, POD(name), 0o600);
    }
    await files.writeAtomic(`${FOLDER}/web`, POD("a"), 0o600);
  });
  const { files, after } = source;
  const web = `${FOLDER}/web`;
  const now = async (change: () => Promise<void>, ms?: number) => (await after(change, ms)).pods;
  assert.deepEqual(await now(async () => {}), [`${web} a`]);
  assert.deepEqual(await now(() => files.writeAtomic(web, POD("b"), 0o600)), [`${web} b`]);
  await files.link("/elsewhere/d", "/elsewhere/current");
  assert.deepEqual(await now(() => files.link("/elsewhere/current/web", web)), [`${web} d`]);
  // No event in the folder reports a link elsewhere.
  const switched = await now(() => files.link("/elsewhere/e", "/elsewhere/current"), EVERY_MS);
  assert.deepEqual(switched, [`${web} e`]);
  await source.stop();
});

test("followFiles: a file that is deleted and made again is reported as such, a saved one is not", async () => {
  const web = `${FOLDER}/web`;
  const source = await follow(FOLDER, async (files) => {
    await files.makeDirectory(FOLDER, 0o755);
    await files.writeAtomic(web, POD("a"), 0o600);
  });
  const { files, after, clock } = source;
  const save = () => files.writeAtomic(web, POD("a"), 0o600);
  for (let i = 0; i < 3; i += 1) {
    assert.deepEqual((await after(save)).recreated, []);
    await clock.advance(100);
  }
  const again = await after(async () => {
    await files.remove(web);
    await files.append(web, POD("a"), 0o600);
  });
  assert.deepEqual(again, { pods: [`${web} a`], problems: [], recreated: [web] });
  await source.stop();
});

test("followFiles: a link to nothing is named, and its pods end", async () => {
  const web = `${FOLDER}/web`;
  const source = await follow(FOLDER, async (files) => {
    await files.makeDirectory("/elsewhere", 0o755);
    await files.makeDirectory(FOLDER, 0o755);
    await files.link("/elsewhere/web", web);
  });
  const { files, after } = source;
  const nothing = {
    pods: [],
    problems: [`${web} is a link to a file that does not exist; remove it or make the file`],
    recreated: [],
  };
  assert.deepEqual(await after(async () => {}), nothing);
  const there = await after(() => files.writeAtomic("/elsewhere/web", POD("a"), 0o600), EVERY_MS);
  assert.deepEqual(there, { pods: [`${web} a`], problems: [], recreated: [] });
  assert.deepEqual(await after(() => files.remove("/elsewhere/web"), EVERY_MS), nothing);
  await source.stop();
});

test("followFiles: one manifest that cannot be used at first says nothing of its pods, as in the Go kubelet", async () => {
  const path = "/web.yaml";
  const source = await follow(path, (files) => files.writeAtomic(path, "kind: ", 0o600));
  const { files, after } = source;
  const { pods, problems } = await after(async () => {}, 1_000);
  assert.deepEqual(pods, ["not known"]);
  assert.equal(problems.length, 1);
  const usable = await after(() => files.writeAtomic(path, POD("a"), 0o600), 1_000);
  assert.deepEqual(usable.pods, [`${path} a`]);
  const broken = await after(() => files.writeAtomic(path, "kind: ", 0o600), 1_000);
  assert.deepEqual(broken.pods, [`${path} a`], "a broken edit changes nothing");
  assert.deepEqual((await after(() => files.remove(path))).pods, []);
  await source.stop();
});

for (const isFolder of [false, true]) {
  const what = isFolder ? "folder" : "file";
  test(`followFiles: a path is not made; it becomes the ${what} that somebody makes`, async () => {
    const path = "/etc/kubernetes/web.yaml";
    const source = await follow(path, (files) => files.makeDirectory("/etc", 0o755));
    const { files, after, clock } = source;
    const missing = {
      pods: [],
      problems: [`${path} does not exist; it is read as soon as it does`],
      recreated: [],
    };
    assert.deepEqual(await after(async () => {}), missing);
    await clock.advance(60_000);
    assert.equal(await files.facts("/etc/kubernetes"), undefined);
    await files.makeDirectory("/etc/kubernetes", 0o755);
    const file = isFolder ? `${path}/a` : path;
    const made = await after(async () => {
      if (isFolder) await files.makeDirectory(path, 0o755);
      await files.writeAtomic(file, POD("a"), 0o600);
    }, 2_000);
    assert.deepEqual(made, { pods: [`${file} a`], problems: [], recreated: [] });
    const edited = await after(() => files.writeAtomic(file, POD("b"), 0o600));
    assert.deepEqual(edited.pods, [`${file} b`], "it is watched now");
    assert.deepEqual((await after(() => files.remove(file))).pods, []);
    await source.stop();
  });
}
