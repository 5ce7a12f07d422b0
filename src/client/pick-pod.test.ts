import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, running } from "../../test/cli/pods.ts";
import { CliError } from "../present/cli-error.ts";
import { parsePodReference, pickContainer, pickPod, podNamed } from "./pick-pod.ts";

const isError = (exitCode: number, fix: RegExp) => (thrown: unknown) =>
  thrown instanceof CliError && thrown.exitCode === exitCode && fix.test(thrown.fix ?? "");

test("`parsePodReference` reads every way to name a pod", () => {
  const vectors: readonly (readonly [string, string, string])[] = [
    ["web", "here", "web"],
    ["pod/web", "here", "web"],
    ["po/web", "here", "web"],
    ["there/web", "there", "web"],
  ];
  for (const [text, namespace, name] of vectors)
    assert.deepEqual(parsePodReference(text, "here"), { namespace, name }, text);
  for (const text of ["", "/", "a/", "/a", "a/b/c"])
    assert.throws(() => parsePodReference(text, "here"), isError(2, /namespace\/name/), text);
});

test("`podNamed` takes the exact name first, then a static pod without its node", () => {
  const pods = [aPod(), aPod({ name: "web" }), aPod({ name: "db-edge-1", namespace: "data" })];
  const named = (namespace: string, name: string) =>
    podNamed(pods, { namespace, name })?.metadata?.name;
  assert.equal(named("default", "web"), "web");
  assert.equal(named("default", "web-edge-1"), "web-edge-1");
  assert.equal(named("data", "db"), "db-edge-1");
  assert.equal(named("default", "db"), undefined);
  assert.equal(pickPod(pods, { namespace: "data", name: "db" }), pods[2]);
});

test("`pickPod` proposes what was probably meant", () => {
  const pods = [aPod({ name: "server" }), aPod({ name: "db", namespace: "data" })];
  const pick = (name: string) => () => pickPod(pods, { namespace: "default", name });
  assert.throws(pick("sever"), isError(3, /did you mean server\?/));
  assert.throws(pick("db"), isError(3, /did you mean data\/db\?/));
  assert.throws(pick("something-else"), isError(3, /get pods -A/));
});

test("`pickContainer` takes the named one, the marked one, or the first", () => {
  const pod = aPod({
    containers: [running({ name: "a" }), running({ name: "b" })],
    init: [running({ name: "setup" })],
  });
  assert.deepEqual(pickContainer(pod, "setup"), { name: "setup", others: [] });
  const { name, others } = pickContainer(pod, undefined);
  assert.equal(name, "a");
  assert.deepEqual([...others].sort(), ["b", "setup"]);
  const annotations = { "kubectl.kubernetes.io/default-container": "b" };
  const marked = { ...pod, metadata: { ...pod.metadata, annotations } };
  assert.deepEqual(pickContainer(marked, undefined), { name: "b", others: [] });
  assert.throws(() => pickContainer(pod, "c"), isError(3, /it has: /));
});
