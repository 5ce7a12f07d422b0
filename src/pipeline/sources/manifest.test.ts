import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import { manifestReader } from "./manifest.ts";

const read = manifestReader("node-1", () => "2026-01-01T00:00:00Z");
const GOOD =
  "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: img:1}]}\n";

test("manifestReader makes a pod of this node", () => {
  const answer = read(GOOD, "file", "/m/web.yaml");
  assert(answer.kind === "pods");
  const [{ pod, uid } = { pod: undefined, uid: "" }] = answer.pods;
  assert.equal(pod?.metadata?.name, "web-node-1");
  assert.equal(pod?.metadata?.namespace, "default");
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.equal(pod?.spec?.restartPolicy, "Always");
  assert.equal(pod?.metadata?.annotations?.["kubernetes.io/config.source"], "file");
});

test("manifestReader gives the same pod for the same content and another for another", () => {
  const uidOf = (text: string, origin = "/m/web.yaml") => {
    const answer = read(text, "file", origin);
    assert(answer.kind === "pods");
    return answer.pods[0]?.uid;
  };
  assert.equal(uidOf(GOOD), uidOf(`# a comment\n${GOOD}`));
  assert.notEqual(uidOf(GOOD), uidOf(GOOD.replace("img:1", "img:2")));
  assert.notEqual(uidOf(GOOD), uidOf(GOOD, "/m/other.yaml"));
});

test("manifestReader takes several documents, lists, and JSON that is only YAML", () => {
  const list = JSON.stringify({
    apiVersion: "v1",
    kind: "PodList",
    items: ["a", "b"].map((name) => ({
      metadata: { name },
      spec: { containers: [{ name, image: "i:1" }] },
    })),
  });
  for (const text of [`${GOOD}---\n${GOOD.replace("web", "web2")}`, list]) {
    const answer = read(text, "file", "/m/x");
    assert.equal(answer.kind === "pods" && answer.pods.length, 2, JSON.stringify(answer));
  }
  const loose = `{apiVersion: v1, "kind": "Pod", # a comment
    "metadata": {"name": "web",},
    "spec": {"containers": [{"name": "a", "image": "img:1"},],},
  }`;
  const answer = read(loose, "file", "/m/web.json");
  assert.equal(answer.kind === "pods" && answer.pods.length, 1, JSON.stringify(answer));
});

const OWN = (own: string, container = "") =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {resources: ${own}, containers: [{name: a, image: "img:1"${container}}]}\n`;
const EQUAL = ", resources: {limits: {cpu: 1, memory: 1Gi}}";

/** Pod-level resources of a manifest, what becomes of them, and the class by the rules of 1.37 and of 1.36. */
const POD_LEVEL: readonly (readonly [
  text: string,
  now: readonly unknown[],
  before: readonly unknown[],
])[] = [
  [
    OWN("{limits: {cpu: 1, memory: 1Gi}}"),
    [{ limits: { cpu: "1", memory: "1Gi" } }, "Burstable"],
    [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
  ],
  [OWN("{}", EQUAL), [{}, "Guaranteed"], [{}, "BestEffort"]],
];

for (const [text, now, before] of POD_LEVEL)
  test(`manifestReader: pod-level resources: ${text.slice(60, 100)}`, () => {
    const answers = [{}, { fillsPodResources: true, countsEmptyPodResources: true }].map(
      (rules) => {
        const answer = manifestReader("n", () => "2026-01-01T00:00:00Z", rules)(
          text,
          "file",
          "/m/x",
        );
        assert(answer.kind === "pods", JSON.stringify(answer));
        const pod: Pod = answer.pods[0]?.pod ?? {};
        return [pod.spec?.resources, qosClassOf(pod)];
      },
    );
    assert.deepEqual(answers, [now, before]);
  });

const BOMB = `a: &a [x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f", "g", "h", "i"]
  .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]`)
  .join("\n")}\n`;

const BAD: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ["not YAML", "a: [b\nc: }", /line|yaml/i],
  ["nothing", "", /contains no pods/],
  ["another kind", GOOD.replace("Pod", "Deployment"), /kind/],
  ["no name", GOOD.replace("{name: web}", "{}"), /metadata\.name/],
  ["a wrong type", GOOD.replace("image: img:1", "image: [1]"), /spec\.containers\[0\]\.image/],
  [
    "an unknown field",
    GOOD.replace("image:", "immage: x, image:"),
    /spec\.containers\[0\]\.immage/,
  ],
  ["no containers", GOOD.replace("[{name: a, image: img:1}]", "[]"), /spec\.containers/],
  ["no image", GOOD.replace(", image: img:1", ""), /spec\.containers\[0\]\.image/],
  [
    "a config map",
    GOOD.replace("containers:", "volumes: [{name: v, configMap: {name: c}}], containers:"),
    /configMap/i,
  ],
  ["an alias bomb", BOMB, /alias|node|depth|large|more than/i],
  ["deep nesting", `${"[".repeat(50_000)}${"]".repeat(50_000)}`, /depth|deep|nest/i],
];

for (const [name, text, message] of BAD) {
  test(`manifestReader refuses ${name} with a message that says so`, () => {
    const answer = read(text, "file", "/m/bad.yaml");
    assert(answer.kind === "refused", JSON.stringify(answer));
    assert.match(answer.message, message);
    assert(answer.message.length < 2000, "a message is for reading");
  });
}

test("manifestReader: own users in the node's network only where they may be asked for", () => {
  const text = GOOD.replace("containers:", "hostNetwork: true, hostUsers: false, containers:");
  const may = manifestReader("node-1", () => "2026-01-01T00:00:00Z", {
    userNamespacesHostNetwork: true,
  });
  assert.equal(may(text, "file", "/m/a.yaml").kind, "pods");
  const answer = read(text, "file", "/m/a.yaml");
  assert.match(answer.kind === "refused" ? answer.message : "", /spec\.hostNetwork: Forbidden/);
});
