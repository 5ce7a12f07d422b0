import assert from "node:assert/strict";
import { test } from "node:test";
import { structShape } from "../schema/shapes.ts";
import { applyJsonPatch, PatchFault } from "./json-patch.ts";
import { applyStrategicPatch } from "./strategic-merge.ts";

test("`applyJsonPatch` keeps RFC 6902", () => {
  const vectors: readonly (readonly [unknown, unknown, unknown])[] = [
    [{ foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { foo: "bar", baz: "qux" }],
    [{ a: ["b", "c"] }, [{ op: "add", path: "/a/1", value: "x" }], { a: ["b", "x", "c"] }],
    [{ a: ["b"] }, [{ op: "add", path: "/a/-", value: "x" }], { a: ["b", "x"] }],
    [{ a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    [{ a: ["b", "c"] }, [{ op: "remove", path: "/a/0" }], { a: ["c"] }],
    [{ a: 1 }, [{ op: "replace", path: "/a", value: 2 }], { a: 2 }],
    [{ a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
    [{ a: 1 }, [{ op: "copy", from: "/a", path: "/b" }], { a: 1, b: 1 }],
    [
      { "a/b": 1, "m~n": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "test", path: "/m~0n", value: 2 },
      ],
      { "m~n": 2 },
    ],
  ];
  for (const [value, patch, expected] of vectors)
    assert.deepEqual(applyJsonPatch(value, patch), expected, JSON.stringify(patch));
  const refused: readonly (readonly [unknown, unknown])[] = [
    [{}, [{ op: "remove", path: "/a" }]],
    [{}, [{ op: "replace", path: "/a", value: 1 }]],
    [{}, [{ op: "add", path: "/a/b", value: 1 }]],
    [{ a: 1 }, [{ op: "test", path: "/a", value: 2 }]],
    [{ a: [] }, [{ op: "add", path: "/a/1", value: 1 }]],
    [{ a: [1] }, [{ op: "remove", path: "/a/-1" }]],
    [{}, [{ op: "add", path: "/a" }]],
    [{}, [{ op: "jump", path: "/a" }]],
    [{}, { op: "add" }],
    [{}, [{ op: "remove", path: "" }]],
  ];
  for (const [value, patch] of refused)
    assert.throws(() => applyJsonPatch(value, patch), PatchFault, JSON.stringify(patch));
});

const POD = structShape("Pod");
const pod = (containers: readonly unknown[], more: object = {}) => ({
  spec: { containers, ...more },
});

test("`applyStrategicPatch` merges lists by their keys, with the API's directives", () => {
  const a = { name: "a", image: "1", env: [{ name: "X", value: "1" }] };
  const b = { name: "b", image: "1" };
  const vectors: readonly (readonly [string, unknown, unknown, unknown])[] = [
    [
      "changes one element",
      pod([a, b]),
      pod([{ name: "b", image: "2" }]),
      pod([a, { ...b, image: "2" }]),
    ],
    ["adds an element", pod([a]), pod([b]), pod([a, b])],
    ["removes an element", pod([a, b]), pod([{ name: "a", $patch: "delete" }]), pod([b])],
    ["replaces the list", pod([a, b]), pod([{ $patch: "replace" }, b]), pod([b])],
    [
      "goes on inside",
      pod([a]),
      pod([{ name: "a", env: [{ name: "Y", value: "2" }] }]),
      pod([
        {
          ...a,
          env: [
            { name: "X", value: "1" },
            { name: "Y", value: "2" },
          ],
        },
      ]),
    ],
    [
      "puts in order",
      pod([a, b]),
      { spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] } },
      pod([b, a]),
    ],
    [
      "replaces lists without a key",
      pod([], { tolerations: [{ key: "a" }] }),
      pod([], { tolerations: [{ key: "b" }] }),
      pod([], { tolerations: [{ key: "b" }] }),
    ],
    [
      "keeps only what is to be kept",
      pod([], { volumes: [{ name: "v", emptyDir: {} }] }),
      pod([], {
        volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }],
      }),
      pod([], { volumes: [{ name: "v", hostPath: { path: "/x" } }] }),
    ],
    [
      "unites sets and takes from them",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] } },
      { metadata: { finalizers: ["b", "c"] } },
    ],
    [
      "replaces an object",
      { metadata: { labels: { a: "1" } } },
      { metadata: { labels: { $patch: "replace", b: "2" } } },
      { metadata: { labels: { b: "2" } } },
    ],
  ];
  for (const [what, value, patch, expected] of vectors)
    assert.deepEqual(applyStrategicPatch(value, patch, POD), expected, what);
  assert.throws(() => applyStrategicPatch(pod([a]), pod([{ image: "2" }]), POD), /merge key: name/);
});
