// Every place where a name from outside becomes part of a path, of a cgroup's or a log's name, or an argument, and that
// all of them ask the same check.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { asPodUid } from "../../src/api/pod-identity.ts";
import { isFileName, isPathBelow } from "../../src/api/text/path-names.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A name from outside: who gives it, what it becomes, and the file that checks it on its way. */
interface Place {
  readonly name: string;
  readonly from: string;
  readonly becomes: string;
  readonly file: string;
  readonly check: "isFileName" | "isPathBelow" | "asPodUid" | "podUidProblems" | "podNameProblems";
}

const PLACES: readonly Place[] = [
  {
    name: "metadata.uid",
    from: "manifests in files and at URLs",
    becomes: "pods/<uid>, log folder, cgroup",
    file: "src/pipeline/sources/manifest.ts",
    check: "podUidProblems",
  },
  {
    name: "uid, namespace, names of pod, containers, volumes",
    from: "the API server, and programs that embed the agent",
    becomes: "pods/<uid>/…, log folder, cgroup",
    file: "src/pipeline/sources/sources.ts",
    check: "podNameProblems",
  },
  {
    name: "labels of sandboxes and containers, names of containers",
    from: "the runtime, where any client may set them",
    becomes: "folders and logs of pods whose spec is gone",
    file: "src/subsystems/runtime/labels.ts",
    check: "asPodUid",
  },
  {
    name: "labels of sandboxes and containers, names of containers",
    from: "the runtime, where any client may set them",
    becomes: "folders and logs of pods whose spec is gone",
    file: "src/subsystems/runtime/labels.ts",
    check: "isFileName",
  },
  {
    name: "the pod's UID of an event",
    from: "the runtime",
    becomes: "which pod is observed",
    file: "src/subsystems/runtime/watch-runtime.ts",
    check: "asPodUid",
  },
  {
    name: "id of a container",
    from: "the runtime",
    becomes: "link in /var/log/containers",
    file: "src/subsystems/logs/container-links.ts",
    check: "isFileName",
  },
  {
    name: "endpoint",
    from: "device plugins that register",
    becomes: "socket below device-plugins/",
    file: "src/subsystems/devices/plugins/registration.ts",
    check: "isPathBelow",
  },
  {
    name: "providers[].name",
    from: "the configuration of credential providers",
    becomes: "program that is run",
    file: "src/subsystems/images/credentials/provider-config.ts",
    check: "isFileName",
  },
  {
    name: "name of a persistent volume",
    from: "the API server",
    becomes: "folder of a local volume",
    file: "src/subsystems/volumes/local-volumes.ts",
    check: "isFileName",
  },
  {
    name: "keys of config maps and secrets, paths of items",
    from: "the API server and manifests",
    becomes: "files of a volume",
    file: "src/outside/host/files/payload.ts",
    check: "isFileName",
  },
  {
    name: "names in folders that pods write to",
    from: "containers",
    becomes: "files that are renamed, zipped, removed",
    file: "src/outside/host/files/change-beneath.ts",
    check: "isFileName",
  },
  {
    name: "cgroupRoot",
    from: "the configuration",
    becomes: "cgroup or slice",
    file: "src/subsystems/cgroups/names.ts",
    check: "isFileName",
  },
  {
    name: "every path of a cgroup, whoever asks",
    from: "pods, configuration, /proc",
    becomes: "folder of the kernel's cgroups",
    file: "src/outside/host/cgroups/cgroup-folders.ts",
    check: "isFileName",
  },
];

for (const { name, from, becomes, file, check } of PLACES) {
  test(`${name} (${from} -> ${becomes}) goes through ${check}`, async () => {
    const text = await readFile(join(ROOT, file), "utf8");
    assert.match(text, new RegExp(`import [^;]*\\b${check}\\b[^;]*;`), `${file} imports it`);
    assert.match(text.replace(/import [^;]*;/g, ""), new RegExp(`\\b${check}\\b`), `${file} asks`);
  });
}

/** Where a text is called a pod's UID without the check, and why that makes no path. */
const UNCHECKED: Readonly<Record<string, string>> = {
  "src/api/pod-identity.ts": "the check itself, and the identity that is checked by sources",
  "src/api/pod/static-pod.ts": "checked by the reader of manifests, which binds them",
  "src/node/eviction.ts": "looks up a pod",
  "src/node/node.ts": "looks up a pod; from the name of a folder",
  "src/node/oom/oom.ts": "looks up a pod",
  "src/node/pods-api/pipeline-pods.ts": "looks up a pod",
  "src/pipeline/pipeline.ts": "looks up a pod",
  "src/pipeline/sources/sources.ts": "drops a pod, if there is one",
  "src/pipeline/status/earlier-statuses.ts": "a status that no pod claims is dropped",
  "src/pipeline/status/status.ts": "a status that no pod claims is dropped",
  "src/server/routes/container-logs.ts": "looks up a pod",
  "src/server/shown-pods.ts": "looks up a pod",
  "src/subsystems/cpus/checkpoint.ts": "an allocation that no pod claims is dropped",
  "src/subsystems/devices/ledger/checkpoint.ts": "an allocation that no pod claims is dropped",
  "src/subsystems/numa-memory/numa-memory.ts": "looks up a pod",
  "src/subsystems/resource-claims/checkpoint.ts":
    "claims of a pod that is not there are taken back",
  "src/subsystems/runtime/read-observation.ts": "empty where the check refuses",
};

test("no other file takes a text for the UID of a pod", async () => {
  const all = (await readdir(join(ROOT, "src"), { recursive: true })).map((path) => `src/${path}`);
  const ours = all.filter((path) => path.endsWith(".ts") && !/\.(test|vectors)\.ts$/.test(path));
  const found: string[] = [];
  for (const path of ours)
    if ((await readFile(join(ROOT, path), "utf8")).includes("as PodUid")) found.push(path);
  assert.deepEqual(found.toSorted(), Object.keys(UNCHECKED).toSorted());
});

const LONG = "x".repeat(256);
/** Never the name of a file, of a path below, of a pod. */
const HOSTILE = [
  "",
  ".",
  "..",
  "/",
  "/etc",
  "../x",
  "a/../../b",
  "a//b",
  "a/",
  "./a",
  "a\0b",
  "a\nb",
  "\u007f",
  LONG,
  "é".repeat(128),
  "😀".repeat(64),
];

for (const text of HOSTILE) {
  test(`${JSON.stringify(text).slice(0, 40)} is no name`, () => {
    assert.equal(isFileName(text), false);
    assert.equal(isPathBelow(text), false);
    assert.equal(asPodUid(text), undefined);
  });
}

/** A text, and whether it is a name of a file, a path below, the UID of a pod. */
const OTHERS: readonly (readonly [string, boolean, boolean, boolean])[] = [
  ["a/b", false, true, false],
  ["...", true, true, false],
  [".hidden", true, true, false],
  ["..data", true, true, false],
  ["a b", true, true, false],
  ["-rf", true, true, false],
  ["a_b", true, true, false],
  ["é".repeat(127), true, true, false],
  ["x".repeat(255), true, true, false],
  ["x".repeat(129), true, true, false],
  ["x".repeat(128), true, true, true],
  ["u", true, true, true],
  ["uid-1.2", true, true, true],
  ["0bb9a4e6-3cf3-4f0a-9d0c-8b5f4f1f0a11", true, true, true],
  ["0123456789abcdef0123456789abcdef", true, true, true],
];

for (const [text, file, below, uid] of OTHERS) {
  test(`${JSON.stringify(text).slice(0, 40)}: file ${file}, path ${below}, UID ${uid}`, () => {
    assert.deepEqual(
      [isFileName(text), isPathBelow(text), asPodUid(text) !== undefined],
      [file, below, uid],
    );
  });
}
