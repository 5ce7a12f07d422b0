import assert from "node:assert/strict";
import { test } from "node:test";
import { formatConfigProblem } from "../problem.ts";
import { decodeConfigText } from "./config-text.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const START =
  '(start it with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration")';

function problemsOf(text: string, keepNull = false): readonly string[] {
  const { problems } = decodeConfigText({ path: "/c.yaml", text }, keepNull);
  return problems.map(formatConfigProblem);
}

/** Body below the header, and the one problem that it must give. */
const WRONG: readonly (readonly [body: string, problem: string])[] = [
  ["maxpods: 5", '/c.yaml:3: unknown field "maxpods" (did you mean maxPods?)'],
  ["maxPdos: 5", '/c.yaml:3: unknown field "maxPdos" (did you mean maxPods?)'],
  ["max-pods: 5", '/c.yaml:3: unknown field "max-pods" (did you mean maxPods?)'],
  [
    "pod-manifest-path: /x",
    '/c.yaml:3: unknown field "pod-manifest-path" (did you mean staticPodPath?)',
  ],
  [
    "clientCAFile: /x",
    '/c.yaml:3: unknown field "clientCAFile" (did you mean authentication.x509.clientCAFile?)',
  ],
  ["frobnicate: 1", '/c.yaml:3: unknown field "frobnicate"'],
  ["__proto__: {port: 1}", '/c.yaml:3: unknown field "__proto__"'],
  ["constructor: {}", '/c.yaml:3: unknown field "constructor"'],
  ["toString: 1", '/c.yaml:3: unknown field "toString"'],
  [
    "authentication:\n  x509:\n    clientCA: /x",
    '/c.yaml:5: unknown field "authentication.x509.clientCA" (did you mean authentication.x509.clientCAFile?)',
  ],
  [
    "authentication: [1]",
    "/c.yaml:3: authentication: Invalid value: [1]: expected a mapping, got a list",
  ],
  [
    "logging: debug",
    '/c.yaml:3: logging: Invalid value: "debug": expected a mapping, got a string',
  ],
  [
    'port: "10250"',
    '/c.yaml:3: port: Invalid value: "10250": expected a whole number, got a string (remove the quotes)',
  ],
  [
    "port: 10250.5",
    "/c.yaml:3: port: Invalid value: 10250.5: expected a whole number, got a number",
  ],
  ["port: 99999999999", "/c.yaml:3: port: Invalid value: 99999999999: does not fit into 32 bits"],
  ["port: -2147483649", "/c.yaml:3: port: Invalid value: -2147483649: does not fit into 32 bits"],
  [
    "podPidsLimit: 18446744073709551615",
    "/c.yaml:3: podPidsLimit: Invalid value: 18446744073709551615: does not fit into 64 bits",
  ],
  [
    "port: true",
    "/c.yaml:3: port: Invalid value: true: expected a whole number, got true or false",
  ],
  ["port: [10250]", "/c.yaml:3: port: Invalid value: [10250]: expected a whole number, got a list"],
  [
    'failSwapOn: "false"',
    '/c.yaml:3: failSwapOn: Invalid value: "false": expected true or false, got a string (remove the quotes)',
  ],
  [
    "failSwapOn: 0",
    "/c.yaml:3: failSwapOn: Invalid value: 0: expected true or false, got a whole number",
  ],
  [
    "memoryThrottlingFactor: much",
    '/c.yaml:3: memoryThrottlingFactor: Invalid value: "much": expected a number, got a string',
  ],
  [
    "clusterDomain: 5",
    "/c.yaml:3: clusterDomain: Invalid value: 5: expected a string, got a whole number (write it in quotes)",
  ],
  [
    "clusterDomain: yes",
    "/c.yaml:3: clusterDomain: Invalid value: true: expected a string, got true or false (write it in quotes)",
  ],
  [
    "clusterDomain: {a: b}",
    '/c.yaml:3: clusterDomain: Invalid value: {"a":"b"}: expected a string, got a mapping',
  ],
  [
    "syncFrequency: 60",
    '/c.yaml:3: syncFrequency: Invalid value: 60: expected a duration such as 1m30s, got a whole number (write it with a unit, e.g. "60s")',
  ],
  [
    'syncFrequency: "60"',
    '/c.yaml:3: syncFrequency: Invalid value: "60": time: missing unit in duration "60" (write numbers with units, e.g. 1h30m, 20s, 100ms)',
  ],
  [
    "syncFrequency: 1d",
    '/c.yaml:3: syncFrequency: Invalid value: "1d": time: unknown unit "d" in duration "1d" (write numbers with units, e.g. 1h30m, 20s, 100ms)',
  ],
  [
    "syncFrequency: true",
    "/c.yaml:3: syncFrequency: Invalid value: true: expected a duration such as 1m30s, got true or false",
  ],
  [
    "logging:\n  flushFrequency: 1.5",
    "/c.yaml:4: logging.flushFrequency: Invalid value: 1.5: expected a duration such as 1m30s, got a number",
  ],
  [
    "logging:\n  options:\n    json:\n      infoBufferSize: 1K",
    '/c.yaml:6: logging.options.json.infoBufferSize: Invalid value: "1K": unable to parse quantity\'s suffix',
  ],
  [
    "logging:\n  options:\n    json:\n      infoBufferSize: [1]",
    "/c.yaml:6: logging.options.json.infoBufferSize: Invalid value: [1]: expected a quantity such as 10Mi, got a list",
  ],
  [
    "clusterDNS: 10.0.0.10",
    '/c.yaml:3: clusterDNS: Invalid value: "10.0.0.10": expected a list, got a string',
  ],
  [
    "clusterDNS: [10]",
    "/c.yaml:3: clusterDNS[0]: Invalid value: 10: expected a string, got a whole number (write it in quotes)",
  ],
  [
    "clusterDNS: [null]",
    "/c.yaml:3: clusterDNS[0]: Invalid value: null: expected a string, got nothing",
  ],
  [
    "kubeReserved:\n  cpu: 1",
    "/c.yaml:4: kubeReserved[cpu]: Invalid value: 1: expected a string, got a whole number (write it in quotes)",
  ],
  [
    "kubeReserved: cpu=1",
    '/c.yaml:3: kubeReserved: Invalid value: "cpu=1": expected a mapping, got a string',
  ],
  [
    "evictionHard:\n  memory.available: null",
    "/c.yaml:4: evictionHard[memory.available]: Invalid value: null: expected a string, got nothing",
  ],
  [
    'featureGates:\n  PodsAPI: "true"',
    '/c.yaml:4: featureGates[PodsAPI]: Invalid value: "true": expected true or false, got a string (remove the quotes)',
  ],
  [
    "staticPodURLHeader:\n  Accept: text/yaml",
    '/c.yaml:4: staticPodURLHeader[Accept]: Invalid value: "text/yaml": expected a list, got a string',
  ],
  [
    "registerWithTaints: [{key: a, efect: NoSchedule, effect: NoSchedule}]",
    '/c.yaml:3: unknown field "registerWithTaints[0].efect" (did you mean effect?)',
  ],
  [
    "registerWithTaints: [a=b:NoSchedule]",
    '/c.yaml:3: registerWithTaints[0]: Invalid value: "a=b:NoSchedule": expected a mapping, got a string',
  ],
  [
    "reservedMemory: [{numaNode: 0, limits: {memory: [1]}}]",
    "/c.yaml:3: reservedMemory[0].limits[memory]: Invalid value: [1]: expected a quantity such as 10Mi, got a list",
  ],
  [
    "port: 1\nport: 2",
    "/c.yaml:4: line 4, column 1: duplicated mapping key; keep only one of the two",
  ],
  [
    "port: 1\n---\nport: 2",
    "/c.yaml:5: line 5, column 1: only one document is allowed here; remove the others",
  ],
];

test("decodeConfig names file, line, path, the fault and the likely intention", () => {
  for (const [body, problem] of WRONG) {
    assert.deepEqual(problemsOf(`${HEAD}${body}\n`), [problem], body);
  }
});

const IDENTITY: readonly (readonly [text: string, problems: readonly string[]])[] = [
  ["", [`/c.yaml: (file): Required value: the file is empty ${START}`]],
  ["  \n\n", [`/c.yaml: (file): Required value: the file is empty ${START}`]],
  ["# nothing\n", ["/c.yaml: no document found"]],
  ["- 1\n", ["/c.yaml: (file): Invalid value: [1]: expected a mapping, got a list"]],
  ["hello\n", ['/c.yaml: (file): Invalid value: "hello": expected a mapping, got a string']],
  [
    "port: 1\n",
    [
      `/c.yaml: apiVersion: Required value: every configuration file must have it ${START}`,
      `/c.yaml: kind: Required value: every configuration file must have it ${START}`,
    ],
  ],
  [
    "apiVersion: v1\nkind: Pod\nport: 1\n",
    [
      '/c.yaml:1: apiVersion: Invalid value: "v1": must be kubelet.config.k8s.io/v1beta1',
      '/c.yaml:2: kind: Invalid value: "Pod": must be KubeletConfiguration',
    ],
  ],
  [
    "apiVersion: kubelet.config.k8s.io/v1alpha1\nkind: KubeletConfiguration\n",
    [
      '/c.yaml:1: apiVersion: Invalid value: "kubelet.config.k8s.io/v1alpha1": must be kubelet.config.k8s.io/v1beta1',
    ],
  ],
];

test("decodeConfig insists on a document of the right kind", () => {
  for (const [text, problems] of IDENTITY) assert.deepEqual(problemsOf(text), problems, text);
});

test("decodeConfig reports everything, not only the first problem", () => {
  const text = `${HEAD}a: 1\nb: 2\nport: x\nmaxPods: y\n`;
  assert.equal(problemsOf(text).length, 4);
});

const RIGHT: readonly (readonly [body: string, fields: unknown])[] = [
  ["port: 0x10", { port: 16 }],
  ["port: 0644", { port: 420 }],
  ["port: 1.0", { port: 1 }],
  ["podPidsLimit: 9007199254740993", { podPidsLimit: 9007199254740992 }],
  ["failSwapOn: off", { failSwapOn: false }],
  ["syncFrequency: 90s", { syncFrequency: "1m30s" }],
  ["syncFrequency: 1500ms", { syncFrequency: "1.5s" }],
  ["logging: {flushFrequency: 5000000000}", { logging: { flushFrequency: "5s" } }],
  ["logging: {flushFrequency: 1s}", { logging: { flushFrequency: "1s" } }],
  [
    "logging: {options: {json: {infoBufferSize: 512}}}",
    { logging: { options: { json: { infoBufferSize: "512" } } } },
  ],
  ["maxPods: null", {}],
  ["authentication: null", {}],
  ["authentication: {anonymous: null}", { authentication: {} }],
  ['{"maxPods": 7}', undefined],
  ["evictionHard: {}", { evictionHard: {} }],
  ["clusterDNS: []", { clusterDNS: [] }],
  [
    "registerWithTaints: [{key: a, value: null, effect: NoExecute}]",
    { registerWithTaints: [{ key: "a", effect: "NoExecute" }] },
  ],
  [
    "registerWithTaints: [{key: a}, {}]",
    {
      registerWithTaints: [
        { key: "a", effect: "" },
        { key: "", effect: "" },
      ],
    },
  ],
  [
    "shutdownGracePeriodByPodPriority: [{priority: 10}, {shutdownGracePeriodSeconds: 5}, {}]",
    {
      shutdownGracePeriodByPodPriority: [
        { priority: 10, shutdownGracePeriodSeconds: 0 },
        { priority: 0, shutdownGracePeriodSeconds: 5 },
        { priority: 0, shutdownGracePeriodSeconds: 0 },
      ],
    },
  ],
  [
    "reservedMemory: [{limits: {memory: 1Gi}}, {numaNode: 1}, {numaNode: null, limits: null}]",
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: "1Gi" } },
        { numaNode: 1, limits: {} },
        { numaNode: 0, limits: {} },
      ],
    },
  ],
  [
    "logging: {vmodule: [{filePattern: pods}]}",
    { logging: { vmodule: [{ filePattern: "pods", verbosity: 0 }] } },
  ],
  ["staticPodURLHeader: {Accept: [a, b]}", { staticPodURLHeader: { Accept: ["a", "b"] } }],
];

test("decodeConfig reads values as Kubernetes does", () => {
  for (const [body, fields] of RIGHT) {
    if (fields === undefined) continue;
    const decoded = decodeConfigText({ path: "/c", text: `${HEAD}${body}\n` }, false);
    assert.deepEqual(decoded.problems, [], body);
    assert.deepEqual(decoded.fields, fields, body);
  }
});

test("decodeConfig reads JSON", () => {
  const text =
    '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":7}';
  assert.deepEqual(decodeConfigText({ path: "/c", text }, false).fields, { maxPods: 7 });
});

test("a drop-in keeps null, at fields, groups and entries of maps", () => {
  const text = `${HEAD}maxPods: null\nauthentication: null\nevictionHard: {memory.available: null, pid.available: 5%}\n`;
  const { fields, problems } = decodeConfigText({ path: "/c", text }, true);
  assert.deepEqual(problems, []);
  assert.deepEqual(fields, {
    maxPods: null,
    authentication: null,
    evictionHard: { "pid.available": "5%", "memory.available": null },
  });
});

test("sizes have bounds", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    [`clusterDomain: ${"x".repeat(65_537)}`, /may not be longer than 65536 characters/],
    [
      `clusterDNS: [${"a,".repeat(10_001)}]`,
      /clusterDNS: Too many: 10001: must have at most 10000 items/,
    ],
    [
      `kubeReserved: {${Array.from({ length: 10_001 }, (_, i) => `a${i}: b`).join(", ")}}`,
      /kubeReserved: Too many: 10001: must have at most 10000 items/,
    ],
    ["clusterDomain: 9007199254740993", /9007199254740993: expected a string, got a whole number/],
  ];
  for (const [body, pattern] of rows) {
    const problems = problemsOf(`${HEAD}${body}\n`);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", pattern);
  }
});

test("hostile texts give a problem and change no prototype", () => {
  const deep = `${HEAD}logging: ${"{a: ".repeat(5000)}1${"}".repeat(5000)}\n`;
  const wide = `${HEAD}clusterDNS: [${"a,".repeat(200_000)}a]\n`;
  const bomb = `${HEAD}a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefghij"]
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[i]}`).join(",")}]`)
    .join("\n")}\n`;
  const huge = `${HEAD}clusterDomain: ${"x".repeat(2_000_000)}\n`;
  for (const text of [deep, wide, bomb, huge, `${HEAD}port: .nan\n`, `${HEAD}\u0000`]) {
    assert.ok(problemsOf(text).length > 0, text.slice(0, 100));
  }
  const proto = `${HEAD}featureGates: {__proto__: true}\nevictionHard: {__proto__: a, constructor: b}\n`;
  const { fields } = decodeConfigText({ path: "/c", text: proto }, false);
  assert.deepEqual(Object.keys(fields["evictionHard"] ?? {}), ["__proto__", "constructor"]);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  assert.equal(Object.getPrototypeOf(fields), Object.prototype);
});
