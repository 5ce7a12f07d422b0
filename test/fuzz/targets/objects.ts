// Objects of the API: manifests, decoding by type, patches, the binary form.
import { type Decodable, decodeObject } from "../../../src/api/decode/decode.ts";
import { formatProblems } from "../../../src/api/decode/field-problem.ts";
import { API_SCHEMA } from "../../../src/api/generated/schema.ts";
import { defaultPod } from "../../../src/api/pod/pod-defaults.ts";
import { validatePod } from "../../../src/api/validation/validation.ts";
import { isTree, jsonText, mergePatch } from "../../../src/kit/json.ts";
import type { ApiObject } from "../../../src/localapi/api-object.ts";
import { fromFieldsV1, toFieldsV1 } from "../../../src/localapi/patch/field-paths.ts";
import { applyJsonPatch, PatchFault } from "../../../src/localapi/patch/json-patch.ts";
import {
  afterUpdate,
  applyConfiguration,
  shownPath,
} from "../../../src/localapi/patch/managed-fields.ts";
import { applyStrategicPatch } from "../../../src/localapi/patch/strategic-merge.ts";
import { structShape } from "../../../src/localapi/schema/shapes.ts";
import { parseJson } from "../../../src/localapi/wire/parse-json.ts";
import { readWireObject, WireFault } from "../../../src/localapi/wire/read-object.ts";
import { manifestReader } from "../../../src/pipeline/sources/manifest.ts";
import { same } from "../check.ts";
import { bytesTarget, textTarget } from "../target.ts";
import { MANIFEST_YAML, POD, POD_JSON, POD_WORDS } from "./seeds.ts";

const KINDS = [
  ...(["Pod", "PodList", "Node", "Secret", "ConfigMap", "Lease", "CoreEvent", "Service"] as const),
  ...(["RuntimeClass", "TokenReview", "Status", "PersistentVolumeClaim", "DeleteOptions"] as const),
  ...([
    "CertificateSigningRequest",
    "PersistentVolume",
    "StorageClass",
    "SubjectAccessReview",
  ] as const),
] satisfies readonly (keyof Decodable)[];

const readManifest = manifestReader("node", () => "2026-11-22T00:00:00Z");
const POD_SHAPE = structShape("Pod");
const WRITER = { manager: "m", apiVersion: "v1", subresource: "", time: "2026-11-22T00:00:00Z" };

interface PatchInput {
  readonly value: unknown;
  readonly patch: unknown;
}

/** An object and a patch of it; JSON as deep as bodies may be. */
function patchInput(text: string): PatchInput | undefined {
  const input = limited(text);
  return isTree(input) ? { value: input["value"], patch: input["patch"] } : undefined;
}

function limited(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Runs a patch, and holds it to leave the object as it was. */
function patched(text: string, apply: (input: PatchInput) => unknown): void {
  const input = patchInput(text);
  if (!input) return;
  const before = jsonText(input.value);
  apply(input);
  same(jsonText(input.value), before);
}

const seedOf = (value: unknown, patch: unknown): string => JSON.stringify({ value, patch });

const fieldsV1 = {
  "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
  "f:spec": { "f:containers": { 'k:{"name":"main"}': { ".": {}, "f:image": {}, "f:args": {} } } },
};

const lengthOf = ({ length }: Uint8Array): readonly number[] =>
  length < 0x80 ? [length] : [(length & 0x7f) | 0x80, length >> 7];

/** A field of protobuf with a length. */
function field(number: number, content: Uint8Array | string): Uint8Array {
  const bytes = Buffer.from(content);
  const tag = number * 8 + 2;
  const head = tag < 0x80 ? [tag] : [(tag & 0x7f) | 0x80, tag >> 7];
  return Buffer.concat([Buffer.from([...head, ...lengthOf(bytes)]), bytes]);
}

const SECONDS = Buffer.from([0x08, 0xf0, 0xa3, 0xcb, 0xa9, 0x06]);

/** A pod with name, time, labels, managed fields; two containers with ports, groups and a quantity. */
function wirePod(): Uint8Array {
  const label = Buffer.concat([field(1, "app"), field(2, "web")]);
  const managed = Buffer.concat([
    field(1, "m"),
    field(2, "Apply"),
    field(7, field(1, '{"f:spec":{}}')),
  ]);
  const metadata = Buffer.concat([
    ...[field(1, "web"), field(3, "shop"), field(8, SECONDS), field(11, label), field(17, managed)],
  ]);
  const limit = Buffer.concat([field(1, "cpu"), field(2, field(1, "1"))]);
  const port = Buffer.concat([field(1, "http"), Buffer.from([0x18, 0x90, 0x3f])]);
  const container = Buffer.concat([
    ...[
      field(1, "main"),
      field(2, "a:1"),
      field(3, "sh"),
      field(6, port),
      field(8, field(1, limit)),
    ],
  ]);
  const security = Buffer.from([0x10, 0x64, 0x20, 0x01, 0x20, 0x02]);
  const spec = Buffer.concat([field(2, container), field(2, container), field(14, security)]);
  const pod = Buffer.concat([field(1, metadata), field(2, spec)]);
  const type = Buffer.concat([field(1, "v1"), field(2, "Pod")]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, pod)]);
}

/** Every decoder of objects. */
export const OBJECT_TARGETS = [
  textTarget({
    name: "manifest-json",
    layout: "json",
    files: ["pipeline/sources/manifest.ts", "api/decode/", "api/validation/"],
    share: 0.2,
    words: POD_WORDS,
    seeds: [POD_JSON, JSON.stringify({ apiVersion: "v1", kind: "PodList", items: [POD] })],
    run: (text) => {
      const read = readManifest(text, "file", "/m/a.yaml");
      if (read.kind === "refused") same(read.message.length > 0, true);
    },
  }),
  textTarget({
    name: "manifest-yaml",
    files: ["pipeline/sources/manifest.ts"],
    share: 0.2,
    words: [...POD_WORDS, ": ", "- ", "\n  ", "---\n"],
    seeds: [MANIFEST_YAML],
    run: (text) => void readManifest(text, "http", "http://user:secret@a.example/x"),
  }),
  textTarget({
    name: "pod-of-the-api",
    layout: "json",
    files: ["api/validation/"],
    share: 0.2,
    words: POD_WORDS,
    seeds: [POD_JSON],
    run: (text) => {
      const value = limited(text);
      if (!isTree(value)) return;
      const { value: pod } = decodeObject("Pod", value);
      formatProblems(validatePod(defaultPod(pod)));
    },
  }),
  textTarget({
    name: "objects",
    layout: "json",
    files: ["api/decode/decode.ts", "api/decode/decode-scalars.ts"],
    share: 0.2,
    words: [...POD_WORDS, ...KINDS],
    seeds: KINDS.map((kind) =>
      JSON.stringify({ ...POD, kind, data: { a: "YQ==" }, items: [POD], status: {} }),
    ),
    run: (text) => {
      const value = limited(text);
      if (!isTree(value)) return;
      const kind = KINDS.find((name) => name === value["kind"]) ?? "Pod";
      const first = decodeObject(kind, value);
      formatProblems(first.problems);
      const again = decodeObject(kind, JSON.parse(JSON.stringify(first.value)));
      same(JSON.stringify(again.value), JSON.stringify(first.value));
    },
  }),
  textTarget({
    name: "json-patch",
    layout: "json",
    files: ["localapi/patch/json-patch.ts"],
    words: [
      "op",
      "path",
      "from",
      "value",
      "add",
      "remove",
      "replace",
      "move",
      "copy",
      "test",
      "/",
      "/-",
      "/a/0",
      "~0",
      "~1",
      "~2",
    ],
    seeds: [
      seedOf({ a: { b: [1, 2, { c: 3 }] } }, [
        { op: "add", path: "/a/b/-", value: 4 },
        { op: "replace", path: "/a/b/0", value: { d: 1 } },
        { op: "move", from: "/a/b", path: "/e" },
        { op: "copy", from: "/e", path: "/f" },
        { op: "test", path: "/e/0", value: { d: 1 } },
        { op: "remove", path: "/a" },
      ]),
    ],
    refuses: [PatchFault],
    run: (text) => patched(text, ({ value, patch }) => applyJsonPatch(value, patch)),
  }),
  textTarget({
    name: "merge-patch",
    layout: "json",
    files: ["kit/json.ts"],
    words: POD_WORDS,
    seeds: [seedOf(POD, { metadata: { labels: { app: null, b: "c" } }, spec: { volumes: [] } })],
    run: (text) =>
      patched(text, ({ value, patch }) => {
        if (patch === undefined) return;
        const once = mergePatch(value, patch);
        same(jsonText(mergePatch(once, patch)), jsonText(once));
      }),
  }),
  textTarget({
    name: "strategic-patch",
    layout: "json",
    files: ["localapi/patch/strategic-merge.ts"],
    share: 0.5,
    words: [
      ...[
        "$patch",
        "delete",
        "replace",
        "merge",
        "$retainKeys",
        "$deleteFromPrimitiveList/finalizers",
      ],
      ...["$setElementOrder/containers", "$setElementOrder/finalizers", ...POD_WORDS],
    ],
    seeds: [
      seedOf(POD, {
        metadata: { finalizers: ["a"], "$deleteFromPrimitiveList/finalizers": ["b"] },
        spec: {
          "$setElementOrder/containers": [{ name: "x" }, { name: "main" }],
          containers: [
            { name: "x", image: "b" },
            { name: "main", $patch: "delete" },
          ],
          volumes: [{ name: "data", $retainKeys: ["name", "hostPath"], hostPath: { path: "/" } }],
        },
      }),
    ],
    refuses: [PatchFault],
    run: (text) =>
      patched(text, ({ value, patch }) => applyStrategicPatch(value, patch, POD_SHAPE)),
  }),
  textTarget({
    name: "server-side-apply",
    layout: "json",
    files: ["localapi/patch/managed-fields.ts", "localapi/patch/field-paths.ts"],
    share: 0.3,
    words: [
      "f:spec",
      "k:{}",
      'k:{"name":"main"}',
      "v:1",
      ".",
      "managedFields",
      "Apply",
      "Update",
      ...POD_WORDS,
    ],
    seeds: [
      seedOf(
        {
          ...POD,
          metadata: {
            ...POD.metadata,
            managedFields: [
              {
                manager: "m",
                operation: "Apply",
                apiVersion: "v1",
                fieldsType: "FieldsV1",
                fieldsV1,
              },
              {
                manager: "n",
                operation: "Update",
                apiVersion: "v1",
                fieldsType: "FieldsV1",
                fieldsV1,
              },
            ],
          },
        },
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { labels: { app: "x" } },
          spec: { containers: [{ name: "main", image: "c" }] },
        },
      ),
    ],
    refuses: [PatchFault],
    run: (text) => {
      const input = patchInput(text);
      if (!input || !isTree(input.patch)) return;
      // What is stored was decoded by its type before.
      const live = {
        metadata: {},
        ...decodeObject("Pod", input.value).value,
      } as unknown as ApiObject;
      const { value: decoded } = decodeObject("Pod", input.patch);
      const configuration = { metadata: {}, ...decoded } as unknown as typeof input.patch;
      const applied = applyConfiguration(
        live,
        configuration,
        { writer: WRITER, force: false },
        POD_SHAPE,
      );
      if (applied.kind === "conflicts") for (const { path } of applied.conflicts) shownPath(path);
      else decodeObject("Pod", applied.object);
      afterUpdate(live, configuration as unknown as ApiObject, WRITER, POD_SHAPE);
    },
  }),
  textTarget({
    name: "managed-fields",
    layout: "json",
    files: ["localapi/patch/field-paths.ts"],
    words: ["f:spec", "k:{}", 'k:{"name":"main"}', "v:1", ".", "i:0", "f:"],
    seeds: [JSON.stringify(fieldsV1)],
    run: (text) => {
      const set = fromFieldsV1(limited(text));
      same([...fromFieldsV1(toFieldsV1(set)).keys()].sort(), [...set.keys()].sort());
    },
  }),
  bytesTarget({
    name: "objects-protobuf",
    layout: "protobuf",
    files: ["localapi/wire/read-object.ts"],
    seeds: [wirePod()],
    refuses: [WireFault, SyntaxError],
    run: (bytes) => {
      const object = readWireObject(bytes, (kind) =>
        Object.hasOwn(API_SCHEMA, kind) ? kind : undefined,
      );
      decodeObject("Pod", object);
    },
  }),
];
