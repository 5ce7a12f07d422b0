import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { decodePodDocument } from "../decode/decode.ts";
import { formatProblem } from "../decode/field-problem.ts";
import type { Container, Pod, PodSpec } from "../generated/types.ts";
import { defaultPod } from "../pod/pod-defaults.ts";
import { parseYamlDocument } from "../text/yaml.ts";
import { type PodValidationOptions, validatePod } from "./validation.ts";

const badPods = new URL("../testdata/bad-pods/", import.meta.url);

type Json = Record<string, unknown>;

/** Which part of a plain pod the fields of a row replace. */
const PLACES: Record<string, (pod: { metadata: Json; spec: Json }, fields: Json) => void> = {
  "metadata.txt": ({ metadata }, fields) => Object.assign(metadata, fields),
  "spec.txt": ({ spec }, fields) => Object.assign(spec, fields),
  "container.txt": ({ spec }, fields) =>
    Object.assign(spec, { containers: [{ name: "c", image: "i", ...fields }] }),
  "volume.txt": ({ spec }, fields) => Object.assign(spec, { volumes: [{ name: "v", ...fields }] }),
};

function problemsOf(document: unknown): readonly string[] {
  const { pods, problems } = decodePodDocument(document);
  return [...problems, ...pods.flatMap((pod) => validatePod(defaultPod(pod)))].map(formatProblem);
}

/** Every row is fields in YAML, then what is reported about them, each indented. */
function rowsOf(text: string): { fields: string; problems: string[] }[] {
  const rows: { fields: string; problems: string[] }[] = [];
  for (const line of text.trimEnd().split("\n"))
    if (line.startsWith("    ")) rows.at(-1)?.problems.push(line.slice(4));
    else rows.push({ fields: line, problems: [] });
  return rows;
}

for (const file of readdirSync(badPods).sort())
  test(`bad pods: ${file}`, () => {
    const rows = rowsOf(readFileSync(new URL(file, badPods), "utf8"));
    assert.ok(rows.length > 20);
    for (const { fields, problems } of rows) {
      assert.ok(problems.length > 0, fields);
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", namespace: "default" },
        spec: {
          containers: [{ name: "c", image: "i" }],
          volumes: [{ name: "v", emptyDir: {} }],
        },
      };
      PLACES[file]?.(pod, parseYamlDocument(fields).value as Json);
      assert.deepEqual(problemsOf(pod), problems, fields);
    }
  });

const podWith = (spec: Partial<PodSpec>, metadata: Pod["metadata"] = {}): Pod => ({
  metadata: { name: "p", namespace: "default", ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

const reported = (pod: Pod, options?: PodValidationOptions): readonly string[] =>
  validatePod(defaultPod(pod), options).map(formatProblem);

test("a pod without defaults is refused for the fields that defaulting sets", () => {
  assert.deepEqual(validatePod(podWith({})).map(formatProblem), [
    "spec.containers[0].terminationMessagePolicy: Required value",
    "spec.containers[0].imagePullPolicy: Required value",
    "spec.restartPolicy: Required value",
    "spec.terminationGracePeriodSeconds: Required value",
    "spec.dnsPolicy: Required value",
  ]);
  assert.deepEqual(validatePod({}).map(formatProblem).slice(0, 3), [
    "metadata.name: Required value: name or generateName is required",
    "metadata.namespace: Required value",
    "spec.containers: Required value",
  ]);
});

test("privileged containers can be disallowed", () => {
  const pod = podWith({
    containers: [{ name: "c", image: "i", securityContext: { privileged: true } }],
  });
  assert.deepEqual(reported(pod), []);
  assert.deepEqual(reported(pod, { allowPrivileged: false }), [
    "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy",
  ]);
  const hostProcess = podWith({
    hostNetwork: true,
    securityContext: { windowsOptions: { hostProcess: true } },
  });
  assert.deepEqual(reported(hostProcess, { allowPrivileged: false }), [
    "spec: Forbidden: hostProcess containers are disallowed by cluster policy",
  ]);
});

test("ephemeral containers may only be added to a pod that exists", () => {
  const add = (container: Partial<Container> & { targetContainerName?: string }) =>
    podWith({ ephemeralContainers: [{ name: "e", image: "i", ...container }] });
  assert.deepEqual(reported(add({})), [
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
  ]);
  assert.deepEqual(reported(add({ targetContainerName: "c" }), { isNew: false }), []);
  assert.deepEqual(
    reported(add({ name: "c", targetContainerName: "x", lifecycle: {} }), { isNew: false }),
    [
      'spec.ephemeralContainers[0].name: Duplicate value: "c"',
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
      "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
    ],
  );
});

test("a profile set twice must be the same", () => {
  const pod = (annotation: string, type: string, localhostProfile?: string) =>
    podWith(
      {
        securityContext: {
          seccompProfile: { type, ...(localhostProfile === undefined ? {} : { localhostProfile }) },
        },
      },
      { annotations: { "seccomp.security.alpha.kubernetes.io/pod": annotation } },
    );
  assert.deepEqual(reported(pod("runtime/default", "RuntimeDefault")), []);
  assert.deepEqual(reported(pod("docker/default", "RuntimeDefault")), []);
  assert.deepEqual(reported(pod("localhost/a.json", "Localhost", "a.json")), []);
  assert.deepEqual(reported(pod("unconfined", "RuntimeDefault")), [
    "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
  ]);
  assert.deepEqual(reported(pod("localhost/a.json", "Localhost", "b.json")), [
    "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
  ]);
  assert.deepEqual(reported(pod("unconfined", "RuntimeDefault"), { isNew: false }), []);
  const container = podWith(
    {
      containers: [
        { name: "c", image: "i", securityContext: { appArmorProfile: { type: "Unconfined" } } },
      ],
    },
    { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "runtime/default" } },
  );
  assert.deepEqual(reported(container), [
    "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
  ]);
});

test("annotations together have at most 256 kB", () => {
  const of = (length: number) => podWith({}, { annotations: { a: "x".repeat(length) } });
  assert.deepEqual(reported(of(262_143)), []);
  assert.deepEqual(reported(of(262_144)), [
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  ]);
});

const HOSTILE = [
  "a".repeat(300_000),
  `${"a".repeat(300_000)}!`,
  "a-".repeat(150_000),
  `${"a.".repeat(150_000)}!`,
  "-".repeat(300_000),
  "/".repeat(300_000),
  `iqn.2001-04.${"a.".repeat(150_000)}`,
  `${" ".repeat(300_000)}x`,
  "\\".repeat(300_000),
  "1:".repeat(150_000),
  "0.".repeat(150_000),
  "../".repeat(100_000),
];

/** The text in every place that takes one. */
const hostilePod = (text: string): unknown => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: text,
    namespace: text,
    labels: { [text]: text },
    annotations: { [text]: text, "controller.kubernetes.io/pod-deletion-cost": text },
    finalizers: [text],
  },
  spec: {
    hostname: text,
    subdomain: text,
    nodeName: text,
    serviceAccountName: text,
    hostAliases: [{ ip: text, hostnames: [text] }],
    dnsConfig: { nameservers: [text], searches: [text] },
    nodeSelector: { [text]: text },
    tolerations: [{ key: text, operator: "Gt", value: text }],
    securityContext: {
      sysctls: [{ name: text, value: "1" }],
      windowsOptions: { runAsUserName: text, gmsaCredentialSpecName: text },
      seccompProfile: { type: "Localhost", localhostProfile: text },
    },
    volumes: [
      { name: "a", iscsi: { targetPortal: text, iqn: text, initiatorName: text, lun: 0 } },
      { name: "b", quobyte: { registry: text, volume: text } },
      { name: "c", hostPath: { path: text } },
      { name: "d", csi: { driver: text } },
      { name: "e", flexVolume: { driver: text, options: { [text]: text } } },
    ],
    containers: [
      {
        name: text,
        image: text,
        ports: [{ containerPort: 1, name: text, hostIP: text }],
        env: [
          { name: text },
          { name: "A", valueFrom: { fieldRef: { fieldPath: text } } },
          { name: "B", valueFrom: { fieldRef: { fieldPath: `metadata.labels['${text}']` } } },
          { name: "C", valueFrom: { resourceFieldRef: { resource: text } } },
        ],
        volumeMounts: [{ name: "c", mountPath: text, subPath: text }],
        livenessProbe: { httpGet: { path: text, port: text, host: text } },
      },
    ],
  },
});

test("hostile texts are refused in linear time", () => {
  for (const text of HOSTILE) {
    const started = performance.now();
    assert.ok(problemsOf(hostilePod(text)).length > 10);
    assert.ok(performance.now() - started < 2000, text.slice(0, 20));
  }
});

const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const cpu = fc.integer({ min: 1, max: 4000 });

const container: fc.Arbitrary<Omit<Container, "name">> = fc.record(
  {
    image: fc.constantFrom(
      "nginx",
      "nginx:1.27",
      "registry.example:5000/a/b@sha256:00",
      "x:latest",
    ),
    command: fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
    env: fc
      .uniqueArray(fc.stringMatching(/^[A-Z_]{1,8}$/), { maxLength: 3 })
      .map((names) => names.map((variable) => ({ name: variable, value: "x" }))),
    ports: fc
      .uniqueArray(fc.integer({ min: 1, max: 65535 }), { maxLength: 3 })
      .map((ports) => ports.map((containerPort) => ({ containerPort }))),
    resources: fc.tuple(cpu, cpu).map(([a, b]) => ({
      limits: { cpu: `${Math.max(a, b)}m`, memory: "1Gi", "hugepages-2Mi": "4Mi" },
      requests: { cpu: `${Math.min(a, b)}m` },
    })),
    readinessProbe: fc.constantFrom(
      { exec: { command: ["true"] } },
      { httpGet: { port: 80 } },
      { grpc: { port: 5000 } },
    ),
    volumeMounts: fc.constantFrom([], [{ name: "v", mountPath: "/v" }]),
  },
  { requiredKeys: ["image"] },
);

const podOf = fc
  .record({
    name,
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
    bodies: fc.array(container, { minLength: 4, maxLength: 4 }),
    inits: fc.nat({ max: 3 }),
    restartPolicy: fc.constantFrom(undefined, "Always", "OnFailure", "Never"),
    hostNetwork: fc.boolean(),
  })
  .map(({ name, names, bodies, inits, restartPolicy, hostNetwork }): unknown => {
    const containers = names.map((own, i) => ({ name: own, ...bodies[i] }));
    const first = Math.min(inits, containers.length - 1);
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        ...(restartPolicy === undefined ? {} : { restartPolicy }),
        // Ports of containers that share the host's network would have to differ among all of them.
        hostNetwork: hostNetwork && containers.length === 1,
        initContainers: containers.slice(0, first).map(({ readinessProbe: _, ...init }) => init),
        containers: containers.slice(first),
        volumes: [{ name: "v", emptyDir: {} }],
      },
    };
  });

test("well-formed pods are valid once defaulted, and defaulted once and for all", () => {
  fc.assert(
    fc.property(podOf, (document) => {
      const { pods, problems } = decodePodDocument(document);
      assert.deepEqual(problems, []);
      const [pod = {}] = pods;
      const defaulted = defaultPod(pod);
      assert.deepEqual(validatePod(defaulted).map(formatProblem), []);
      assert.deepEqual(defaultPod(defaulted), defaulted);
    }),
    { numRuns: 200 },
  );
});
