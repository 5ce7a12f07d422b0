import assert from "node:assert/strict";
import { test } from "node:test";
import { isChosen, parseEventChoice } from "./event-choice.ts";

const event = (kind: string, name: string, namespace = "shop", uid = "uid-1") => ({
  metadata: {},
  involvedObject: { kind, name, namespace, uid },
  source: { component: "kubelet", host: "n1" },
});

test("parseEventChoice: what can be written", () => {
  const rows: readonly (readonly [string, ReturnType<typeof parseEventChoice>])[] = [
    ["node", { kind: "node" }],
    ["node/n1", { kind: "node" }],
    ["pod/web", { kind: "pod", name: "web" }],
    ["po/shop/web", { kind: "pod", namespace: "shop", name: "web" }],
    ["web", undefined],
    ["pod", undefined],
    ["pod/", undefined],
    ["pod/shop/", undefined],
    ["pod/a/b/c", undefined],
    ["node/a/b", undefined],
    ["job/x", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of rows) assert.deepEqual(parseEventChoice(text), expected, text);
});

test("isChosen: by name, by UID, by the name of a static pod without its node", () => {
  const chosen = (text: string, of: ReturnType<typeof event>) =>
    isChosen(of, parseEventChoice(text) ?? { kind: "node" });
  assert.ok(chosen("pod/web", event("Pod", "web")));
  assert.ok(chosen("pod/web", event("Pod", "web-n1")));
  assert.ok(chosen("pod/uid-1", event("Pod", "web")));
  assert.ok(chosen("pod/shop/web", event("Pod", "web")));
  assert.ok(chosen("node", event("Node", "n1")));
  assert.equal(chosen("pod/web", event("Pod", "web-n2")), false);
  assert.equal(chosen("pod/web", event("Node", "web")), false);
  assert.equal(chosen("pod/other/web", event("Pod", "web")), false);
  assert.equal(chosen("pod/shop/web", event("Pod", "web-n1")), false);
  assert.equal(chosen("node", event("Pod", "web")), false);
});
