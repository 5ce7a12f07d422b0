import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/pod-identity.ts";
import { manifestReader } from "./manifest.ts";
import { differenceOf, type Merged, mergeSources, type SourcedPod } from "./merge.ts";

const SPEC = { containers: [{ name: "a", image: "i:1" }] };
let seen = 0;
const read = manifestReader("n", () => `seen ${String(++seen)}`);

/** The pod of a manifest at that path. */
function at(origin: string, metadata: Pod["metadata"], spec: object = SPEC): SourcedPod {
  const text = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
  const answer = read(text, origin.startsWith("http") ? "http" : "file", origin);
  assert(answer.kind === "pods", JSON.stringify(answer));
  return answer.pods[0] ?? assert.fail();
}

const NOTHING: ReadonlyMap<PodUid, SourcedPod> = new Map();

const merged = (
  desired: readonly SourcedPod[],
  before = NOTHING,
  running: readonly string[] = [],
  taken: readonly string[] = [],
): Merged =>
  mergeSources(desired, {
    before,
    isRunning: (uid) => running.includes(uid),
    isTaken: (uid) => taken.includes(uid),
  });
const originsOf = ({ pods }: Merged) => [...pods.values()].map(({ origin }) => origin).toSorted();

for (const backup of ["/m/#web.yaml#", "/m/backup-web.yaml", "/m/web.yaml~"]) {
  test(`mergeSources: an edited file keeps the name that ${backup} claims, too`, () => {
    const first = merged([at("/m/web.yaml", { name: "web" })]);
    const old = at(backup, { name: "web" });
    const second = merged([at("/m/web.yaml", { name: "web" }), old], first.pods);
    assert.deepEqual(originsOf(second), ["/m/web.yaml"]);
    assert.deepEqual(second.duplicates, [old]);
    const edited = at("/m/web.yaml", { name: "web", labels: { edited: "yes" } });
    const third = merged([old, edited], second.pods);
    assert.deepEqual([...third.pods.values()], [edited]);
    assert.match(third.problems[0]?.message ?? "", /already defined by \/m\/web\.yaml/);
    const restarted = merged([old, edited], NOTHING, [edited.uid]);
    assert.deepEqual([...restarted.pods.values()], [edited], "also after a restart of the agent");
    assert.deepEqual([...merged([old], third.pods).pods.values()], [old], "until it is removed");
  });
}

test("mergeSources: of two manifests with one UID the second is a problem that says so", () => {
  const a = at("/m/a.yaml", { name: "a", uid: "u1" });
  const b = at("/m/b.yaml", { name: "b", uid: "u1" });
  for (const desired of [
    [a, b],
    [b, a],
  ]) {
    const { pods, problems, duplicates } = merged(desired);
    assert.deepEqual([...pods.values()], [a]);
    assert.deepEqual(duplicates, []);
    assert.deepEqual(problems, [
      {
        origin: "/m/b.yaml",
        message:
          "metadata.uid u1 of pod default/b-n is the UID of pod default/a-n of /m/a.yaml; remove it from one of them",
      },
    ]);
  }
  assert.deepEqual([...merged([a, b], merged([b]).pods).pods.values()], [b], "whose it was");
});

test("mergeSources: the UID of a pod that a cluster has is not a manifest's", () => {
  const { pods, problems } = merged(
    [at("/m/a.yaml", { name: "a", uid: "u1" })],
    NOTHING,
    [],
    ["u1"],
  );
  assert.equal(pods.size, 0);
  assert.match(problems[0]?.message ?? "", /is the UID of a pod of another source/);
});

/** What an edit of a manifest with a UID of its own does. */
const EDITS: readonly (readonly [
  what: string,
  metadata: Pod["metadata"],
  spec: object,
  edit: "same" | "inPlace" | "recreate",
])[] = [
  ["nothing", { name: "a" }, SPEC, "same"],
  ["a resource version", { name: "a", resourceVersion: "7", generation: 2 }, SPEC, "same"],
  ["a label", { name: "a", labels: { x: "y" } }, SPEC, "inPlace"],
  ["an annotation", { name: "a", annotations: { x: "y" } }, SPEC, "inPlace"],
  ["an image", { name: "a" }, { containers: [{ name: "a", image: "i:2" }] }, "inPlace"],
  ["a deadline", { name: "a" }, { ...SPEC, activeDeadlineSeconds: 9 }, "inPlace"],
  ["a toleration", { name: "a" }, { ...SPEC, tolerations: [{ operator: "Exists" }] }, "inPlace"],
  [
    "a command",
    { name: "a" },
    { containers: [{ name: "a", image: "i:1", command: ["x"] }] },
    "recreate",
  ],
  [
    "a container",
    { name: "a" },
    { containers: [...SPEC.containers, { name: "b", image: "i" }] },
    "recreate",
  ],
  ["a volume", { name: "a" }, { ...SPEC, volumes: [{ name: "v", emptyDir: {} }] }, "recreate"],
  ["the host's network", { name: "a" }, { ...SPEC, hostNetwork: true }, "recreate"],
  ["a name", { name: "b" }, SPEC, "recreate"],
  ["a namespace", { name: "a", namespace: "other" }, SPEC, "recreate"],
];

for (const [what, metadata, spec, edit] of EDITS) {
  for (const origin of ["/m/a.yaml", "http://h/pods"]) {
    test(`differenceOf: ${what} in a manifest at ${origin} with its own UID is ${edit}`, () => {
      const uid = "own" as PodUid;
      const before = merged([at(origin, { name: "a", uid })]).pods;
      const now = merged([at(origin, { ...metadata, uid }, spec)], before).pods;
      const { removed, desired } = differenceOf(before, now);
      assert.deepEqual(removed, edit === "recreate" ? [uid] : []);
      assert.equal(desired.length, edit === "same" ? 0 : 1);
      const seenOf = (pod: SourcedPod | undefined) =>
        pod?.pod.metadata.annotations?.["kubernetes.io/config.seen"];
      if (edit === "inPlace") assert.equal(seenOf(desired[0]), seenOf(before.get(uid)));
    });
  }
}

test("differenceOf: without a UID of its own every edit is another pod", () => {
  const before = merged([at("/m/a.yaml", { name: "a" })]).pods;
  const now = merged([at("/m/a.yaml", { name: "a", labels: { x: "y" } })], before).pods;
  const { removed, desired } = differenceOf(before, now);
  assert.deepEqual(removed, [...before.keys()]);
  assert.deepEqual(desired, [...now.values()]);
});

test("differenceOf: a file that was deleted and made again begins again, unchanged or not", () => {
  const pods = merged([at("/m/a.yaml", { name: "a" }), at("/m/b.yaml", { name: "b" })]).pods;
  const { removed, desired } = differenceOf(pods, pods, new Set(["/m/a.yaml"]));
  const again = [...pods.values()].filter(({ origin }) => origin === "/m/a.yaml");
  assert.deepEqual(desired, again);
  assert.deepEqual(
    removed,
    again.map(({ uid }) => uid),
  );
});
