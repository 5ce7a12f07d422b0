import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { API_SCHEMA } from "../generated/schema.ts";
import { parseYamlDocument } from "../text/yaml.ts";
import { type Decodable, decodeObject, decodePodDocument } from "./decode.ts";
import { formatProblem } from "./field-problem.ts";

const problemsOf = (type: keyof Decodable, json: unknown, path = "") =>
  decodeObject(type, json, path).problems.map(formatProblem);
const container = (fields: object) => ({ spec: { containers: [{ name: "c", ...fields }] } });

test("decodeObject: problems of a pod, with path, expectation and fix", () => {
  const table: readonly [unknown, readonly string[]][] = [
    [container({}), []],
    [{ spec: {} }, ["spec.containers: Required value"]],
    [{ spec: { containers: null } }, ["spec.containers: Required value"]],
    [{ spec: { containers: [{}] } }, ["spec.containers[0].name: Required value"]],
    [{ spec: { containers: [null] } }, ["spec.containers[0].name: Required value"]],
    [
      { spec: { containers: {} } },
      ["spec.containers: Invalid value: expected a list, got an object"],
    ],
    [{ spec: 1 }, ["spec: Invalid value: 1: expected an object, got a number"]],
    [[], [": Invalid value: expected an object, got a list"]],
    [container({ imag: "x" }), ['unknown field "spec.containers[0].imag" (did you mean "image"?)']],
    [
      container({ Image: "x" }),
      ['unknown field "spec.containers[0].Image" (did you mean "image"?)'],
    ],
    [
      container({ imagePullPolcy: "x" }),
      ['unknown field "spec.containers[0].imagePullPolcy" (did you mean "imagePullPolicy"?)'],
    ],
    [container({ wholly: "x" }), ['unknown field "spec.containers[0].wholly"']],
    [
      container({ env: [{ name: "A", value: 1 }] }),
      [
        "spec.containers[0].env[0].value: Invalid value: 1: expected a string, got a number (put it in quotes)",
      ],
    ],
    [
      container({ env: [{ name: "A", value: true }] }),
      [
        "spec.containers[0].env[0].value: Invalid value: true: expected a string, got a boolean (put it in quotes)",
      ],
    ],
    [
      container({ args: ["a", ["b"]] }),
      ["spec.containers[0].args[1]: Invalid value: expected a string, got a list"],
    ],
    [
      container({ ports: [{ containerPort: "80" }] }),
      [
        'spec.containers[0].ports[0].containerPort: Invalid value: "80": expected a whole number, got a string',
      ],
    ],
    [
      container({ ports: [{ containerPort: 80.5 }] }),
      ["spec.containers[0].ports[0].containerPort: Invalid value: 80.5: must be an integer"],
    ],
    [
      container({ ports: [{ containerPort: 2 ** 31 }] }),
      ["spec.containers[0].ports[0].containerPort: Invalid value: 2147483648: must fit 32 bits"],
    ],
    [
      container({ stdin: "yes" }),
      ['spec.containers[0].stdin: Invalid value: "yes": expected true or false, got a string'],
    ],
    [
      container({ resources: { limits: { cpu: "1K" } } }),
      [
        'spec.containers[0].resources.limits[cpu]: Invalid value: "1K": unable to parse quantity\'s suffix',
      ],
    ],
    [
      container({ resources: { limits: { cpu: [] } } }),
      [
        "spec.containers[0].resources.limits[cpu]: Invalid value: expected a quantity such as 100m or 1Gi, got a list",
      ],
    ],
    [
      container({ livenessProbe: { tcpSocket: { port: 1.5 } } }),
      ["spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 1.5: must be an integer"],
    ],
    [
      { metadata: { creationTimestamp: "yesterday" } },
      [
        'metadata.creationTimestamp: Invalid value: "yesterday": must be a time such as 2026-01-02T03:04:05Z',
      ],
    ],
    [
      { metadata: { labels: { a: 1 } } },
      ["metadata.labels[a]: Invalid value: 1: expected a string, got a number (put it in quotes)"],
    ],
    [
      { ...container({}), spec: { containers: [], activeDeadlineSeconds: 2n ** 64n } },
      ["spec.activeDeadlineSeconds: Invalid value: 18446744073709551616: must fit 64 bits"],
    ],
  ];
  for (const [json, expected] of table) assert.deepEqual(problemsOf("Pod", json), expected);
  assert.deepEqual(problemsOf("Secret", { data: { k: "?" } }, "x"), [
    'x.data[k]: Invalid value: "?": must be base64 with padding',
  ]);
  assert.deepEqual(problemsOf("Secret", { data: { k: "aGk=\n" } }), []);
});

test("decodeObject: null is absent, elements of null are zero values", () => {
  const { value, problems } = decodeObject("Pod", {
    metadata: { creationTimestamp: null, annotations: { a: null } },
    spec: {
      containers: [{ name: "c", args: [null], ports: null, resources: { limits: { cpu: null } } }],
      nodeName: null,
    },
    status: {},
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(value, {
    metadata: { annotations: { a: "" } },
    spec: { containers: [{ args: [""], name: "c", resources: { limits: { cpu: "0" } } }] },
    status: {},
  });
});

test("decodeObject: the API's own spelling", () => {
  const { value, problems } = decodeObject("Pod", {
    metadata: { creationTimestamp: "2026-01-02T05:04:05.999+02:00", generation: 7n },
    spec: {
      containers: [
        {
          name: "c",
          resources: { limits: { cpu: 0.5, memory: " 1024Mi " }, requests: { memory: 10n ** 10n } },
          livenessProbe: { httpGet: { port: "http" }, tcpSocket: { port: 80 } },
        },
      ],
      terminationGracePeriodSeconds: 9007199254740991n,
    },
  });
  assert.deepEqual(problems, []);
  assert.equal(value.metadata?.creationTimestamp, "2026-01-02T03:04:05Z");
  assert.equal(value.metadata?.generation, 7);
  assert.deepEqual(value.spec?.containers[0]?.resources, {
    limits: { cpu: "500m", memory: "1Gi" },
    requests: { memory: "10G" },
  });
  assert.equal(value.spec?.terminationGracePeriodSeconds, Number.MAX_SAFE_INTEGER);
});

const INEXACT =
  "must be from -9007199254740991 to 9007199254740991: whole numbers beyond 2^53 are not kept exactly";
for (const [seconds, fault] of [
  [9007199254740991, undefined],
  [-9007199254740991n, undefined],
  [9007199254740992, INEXACT],
  [9007199254740993n, INEXACT],
  [2n ** 63n - 1n, INEXACT],
  [-(2n ** 63n), INEXACT],
  [2n ** 63n, "must fit 64 bits"],
] as const)
  test(`decodeObject: ${seconds} is kept, or refused in words`, () => {
    const spec = { containers: [{ name: "c" }], terminationGracePeriodSeconds: seconds };
    const { value, problems } = decodeObject("Pod", { spec });
    const path = "spec.terminationGracePeriodSeconds";
    assert.deepEqual(
      problems.map(formatProblem),
      fault === undefined ? [] : [`${path}: Invalid value: ${seconds}: ${fault}`],
    );
    if (fault === undefined)
      assert.equal(value.spec?.terminationGracePeriodSeconds, Number(seconds));
  });

test("decodeObject: free-form JSON with a whole number that cannot be kept is refused", () => {
  const problemsOf = (fieldsV1: unknown) =>
    decodeObject("ConfigMap", { metadata: { managedFields: [{ fieldsV1 }] } }).problems;
  assert.deepEqual(problemsOf({ a: [1, 2.5, 1e30] }), []);
  const [problem] = problemsOf({ a: [2n ** 53n + 1n] });
  assert.match(problem ? formatProblem(problem) : "", /fieldsV1: .*not kept exactly$/);
});

test("decodeObject: hostile keys and masses of nonsense are harmless", () => {
  const json: unknown = JSON.parse(
    '{"__proto__": {"x": 1}, "constructor": 1, "metadata": {"labels": {"__proto__": "a", "constructor": "b", "toString": "c"}}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"__proto__": "1"}}}]}}',
  );
  const { value, problems } = decodeObject("Pod", json);
  assert.deepEqual(problems.map(formatProblem), [
    'unknown field "__proto__"',
    'unknown field "constructor"',
  ]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  const labels = value.metadata?.labels ?? {};
  assert.deepEqual(Object.keys(labels), ["__proto__", "constructor", "toString"]);
  assert.equal(Object.getPrototypeOf(labels), Object.prototype);
  assert.deepEqual(Object.keys(value.spec?.containers[0]?.resources?.limits ?? {}), ["__proto__"]);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, 1]));
  assert.equal(decodeObject("Pod", many).problems.length, 100);
  let deep: unknown = 1;
  for (let i = 0; i < 10_000; i++) deep = [deep];
  assert.deepEqual(problemsOf("Pod", { metadata: { managedFields: [{ fieldsV1: deep }] } }), [
    "metadata.managedFields[0].fieldsV1: Invalid value: nests too deep",
  ]);
});

test("decodePodDocument: Pod, PodList and everything else", () => {
  const spec = { containers: [{ name: "c" }] };
  const one = decodePodDocument({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec });
  assert.deepEqual([one.pods.length, one.problems], [1, []]);
  const list = decodePodDocument({
    apiVersion: "v1",
    kind: "PodList",
    metadata: {},
    items: [
      { metadata: { name: "a" }, spec },
      { kind: "Pod", spec: { ...spec, nam: 1 } },
    ],
  });
  assert.equal(list.pods.length, 2);
  assert.deepEqual(list.problems.map(formatProblem), ['unknown field "items[1].spec.nam"']);
  const table: readonly [unknown, readonly string[]][] = [
    [null, ["kind: Invalid value: expected a Pod or PodList, got nothing"]],
    ["x", ["kind: Invalid value: expected a Pod or PodList, got a string"]],
    [
      {},
      [
        'apiVersion: Required value: must be "v1"',
        'kind: Required value: must be "Pod" or "PodList"',
      ],
    ],
    [
      { apiVersion: "apps/v1", kind: "Deployment" },
      [
        'apiVersion: Unsupported value: "apps/v1": supported values: "v1"',
        'kind: Unsupported value: "Deployment": supported values: "Pod", "PodList"',
      ],
    ],
    [
      { apiVersion: "v1", kind: "PodList", items: [{ kind: "Service", spec: { containers: [] } }] },
      ['items[0].kind: Unsupported value: "Service": supported values: "Pod"'],
    ],
    [{ apiVersion: "v1", kind: "PodList" }, ["items: Required value"]],
  ];
  for (const [json, expected] of table)
    assert.deepEqual(decodePodDocument(json).problems.map(formatProblem), expected);
  const yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}";
  assert.deepEqual(decodePodDocument(parseYamlDocument(yaml).value).problems, []);
});

/** Arbitrary JSON that fits a type of the schema. */
function arbitraryOf(kind: string, depth: number): fc.Arbitrary<unknown> {
  if (kind.startsWith("[]")) return fc.array(arbitraryOf(kind.slice(2), depth), { maxLength: 2 });
  if (kind.startsWith("{}"))
    return fc.dictionary(fc.string({ maxLength: 5 }), arbitraryOf(kind.slice(2), depth), {
      maxKeys: 2,
    });
  switch (kind) {
    case "string":
      return fc.string({ maxLength: 10 });
    case "int32":
      return fc.integer();
    case "int64":
      return fc.maxSafeInteger();
    case "double":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0);
    case "bool":
      return fc.boolean();
    case "bytes":
      return fc.base64String({ maxLength: 12 });
    case "quantity":
      return fc.constantFrom("0", "1", "100m", "1Gi", "1536Mi", "5k", "1e3");
    case "time":
      return fc.constantFrom("2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z");
    case "microtime":
      return fc.constantFrom("2026-01-02T03:04:05.123000Z", "2026-01-02T03:04:05.123456Z");
    case "intOrString":
      return fc.oneof(fc.integer(), fc.string({ maxLength: 5 }));
    case "any":
      return fc.constantFrom("x", 1, [1], { a: { b: null } });
    default:
      return objectOf(kind, depth + 1);
  }
}

function objectOf(type: string, depth: number): fc.Arbitrary<unknown> {
  const fields = Object.entries(API_SCHEMA[type] ?? {});
  const requiredKeys = fields.filter(([, kind]) => kind.endsWith("!")).map(([name]) => name);
  const record: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, kind] of fields)
    if (depth < 4 || kind.endsWith("!")) record[name] = arbitraryOf(kind.replace("!", ""), depth);
  return fc.record(record, { requiredKeys });
}

test("decodeObject: decoding what was decoded changes nothing (property)", () => {
  for (const type of ["Pod", "Node", "Secret", "Lease", "CoreEvent", "PersistentVolume"] as const)
    fc.assert(
      fc.property(objectOf(type, 0), (json) => {
        const { value, problems } = decodeObject(type, json);
        assert.deepEqual(problems, []);
        assert.deepEqual(JSON.parse(JSON.stringify(value)), JSON.parse(JSON.stringify(json)));
        assert.deepEqual(decodeObject(type, value).value, value);
      }),
      { numRuns: 60 },
    );
});

test("decodeObject: never throws, always gives an object (property)", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (json) => {
      for (const type of ["Pod", "PodList", "Status"] as const) {
        const { value } = decodeObject(type, { ...(json as object), spec: json, items: json });
        assert.equal(typeof value, "object");
        assert.deepEqual(decodeObject(type, value).value, value);
      }
    }),
  );
});
