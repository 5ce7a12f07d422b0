import assert from "node:assert/strict";
import { test } from "node:test";
import { identifyPod } from "../../api/pod-identity.ts";
import {
  configMapFiles,
  downwardFiles,
  mergePayloads,
  onlyUser,
  type Payload,
  secretFiles,
} from "./payloads.ts";
import { hugePagesOf, memorySize } from "./sizes.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const KEYS = { items: undefined, defaultMode: 0o644, optional: false };
const CONFIG_MAP = { data: { a: "1", b: "2" }, binaryData: { bin: base64("\u0001\u0002") } };
const SECRET = { data: { user: base64("root"), password: base64("geheim ü") } };

/** Files as `path mode content`. */
const shown = (payload: Payload) =>
  payload.kind === "fault"
    ? payload.message
    : payload.files.map(
        ({ path, mode, content }) => `${path} ${mode.toString(8)} ${Buffer.from(content)}`,
      );

test("configMapFiles gives every key, binary ones decoded", () => {
  assert.deepEqual(shown(configMapFiles(CONFIG_MAP, KEYS)), [
    "a 644 1",
    "b 644 2",
    "bin 644 \u0001\u0002",
  ]);
});

test("items choose, rename and set modes; a missing key is a fault unless optional", () => {
  const items = [
    { key: "b", path: "deep/b", mode: 0o400 },
    { key: "none", path: "x" },
  ];
  const selection = { ...KEYS, items };
  assert.equal(
    shown(configMapFiles(CONFIG_MAP, selection)),
    "configmap references non-existent config key: none",
  );
  assert.equal(shown(secretFiles(SECRET, selection)), "references non-existent secret key: b");
  const optional = { ...selection, optional: true };
  assert.deepEqual(shown(configMapFiles(CONFIG_MAP, optional)), ["deep/b 400 2"]);
  assert.deepEqual(shown(secretFiles({}, optional)), []);
});

test("secretFiles decodes", () => {
  assert.deepEqual(shown(secretFiles(SECRET, KEYS)), ["user 644 root", "password 644 geheim ü"]);
});

const pod = identifyPod({
  metadata: { name: "p", labels: { a: "1" } },
  spec: { containers: [{ name: "c", resources: { limits: { cpu: "1" } } }] },
});

test("downwardFiles reports all faults at once", () => {
  const allocatable = { cpuMilli: 1000, memoryBytes: 1, ephemeralStorageBytes: 1 };
  const selection = { defaultMode: 0o600, allocatable };
  const items = [
    { path: "l", fieldRef: { fieldPath: "metadata.labels" } },
    { path: "c", resourceFieldRef: { containerName: "c", resource: "limits.cpu" }, mode: 0o444 },
  ];
  assert.deepEqual(shown(downwardFiles(pod, items, selection)), ['l 600 a="1"', "c 444 1"]);
  const bad = [
    { path: "x", fieldRef: { fieldPath: "nope" } },
    { path: "y", resourceFieldRef: { containerName: "z", resource: "limits.cpu" } },
  ];
  assert.equal(
    shown(downwardFiles(pod, bad, selection)),
    "[unsupported fieldPath: nope, container z not found]",
  );
});

test("mergePayloads: the last of a path wins, one fault is itself, several are a list", () => {
  const files = (path: string, text: string): Payload => ({
    kind: "files",
    files: [{ path, content: Buffer.from(text), mode: 0o644 }],
  });
  const fault = (message: string): Payload => ({ kind: "fault", message });
  assert.deepEqual(shown(mergePayloads([files("a", "1"), files("b", "2"), files("a", "3")])), [
    "a 644 3",
    "b 644 2",
  ]);
  assert.equal(shown(mergePayloads([files("a", "1"), fault("x")])), "x");
  assert.equal(shown(mergePayloads([fault("x"), fault("y"), fault("x")])), "[x, y]");
});

test("onlyUser: the one user all containers share", () => {
  const of = (podUser: number | undefined, ...users: (number | undefined)[]) =>
    onlyUser({
      spec: {
        ...(podUser === undefined ? {} : { securityContext: { runAsUser: podUser } }),
        containers: users.map((runAsUser, i) => ({
          name: `c${i}`,
          ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
        })),
      },
    });
  assert.equal(of(undefined, 1000, 1000), 1000);
  assert.equal(of(1000, undefined, 1000), 1000);
  assert.equal(of(undefined, 1000, undefined), undefined);
  assert.equal(of(undefined, 1000, 1001), undefined);
  assert.equal(of(undefined, undefined), undefined);
});

const GI = 2 ** 30;
/** Limits of the containers, limit of the volume, size in GiB on a node of 8. */
const SIZES: readonly (readonly [readonly (string | undefined)[], string | undefined, number])[] = [
  [[undefined], undefined, 8],
  [["2Gi"], undefined, 2],
  [["2Gi", "1Gi"], undefined, 3],
  [["2Gi", undefined], undefined, 8],
  [["2Gi"], "1Gi", 1],
  [["2Gi"], "3Gi", 2],
  [[undefined], "20Gi", 8],
  [["16Gi"], undefined, 8],
  [[undefined], "0", 8],
];

for (const [limits, sizeLimit, expected] of SIZES)
  test(`memorySize with limits ${limits.join(" ")} and sizeLimit ${sizeLimit}`, () => {
    const containers = limits.map((memory, i) => ({
      name: `c${i}`,
      ...(memory === undefined ? {} : { resources: { limits: { memory } } }),
    }));
    const source = sizeLimit === undefined ? {} : { sizeLimit };
    assert.equal(memorySize({ spec: { containers } }, source, 8 * GI), expected * GI);
  });

const MI = 2 ** 20;
const list = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`hugepages-${name}`, "64Mi"]));

/** Medium; page sizes of the container, of an init container, of the pod; page and size in MiB, or the fault. */
const HUGE_PAGES: readonly (readonly [
  medium: string,
  container: readonly string[],
  init: readonly string[],
  pod: readonly string[],
  expected: readonly [number, number] | RegExp,
])[] = [
  ["HugePages", ["2Mi"], [], [], [2, 64]],
  ["HugePages", ["2Mi"], ["2Mi"], [], [2, 128]],
  ["HugePages", [], [], ["2Mi"], [2, 64]],
  ["HugePages", ["2Mi"], [], ["2Mi"], [2, 64]],
  ["HugePages", ["2Mi"], [], ["2048Ki"], [2, 64]],
  ["HugePages-2Mi", ["2Mi", "1Gi"], [], [], [2, 64]],
  ["HugePages-1Gi", ["2Mi"], [], ["1Gi", "2Mi"], [1024, 64]],
  ["HugePages-2Mi", [], [], ["2Mi"], [2, 64]],
  ["HugePages", ["2Mi", "1Gi"], [], [], /^medium: HugePages can't be used if container requests/],
  ["HugePages", ["2Mi"], ["1Gi"], [], /multiple huge page sizes$/],
  ["HugePages", ["2Mi"], [], ["1Gi"], /multiple huge page sizes$/],
  ["HugePages", [], [], ["2Mi", "1Gi"], /multiple huge page sizes$/],
  [
    "HugePages",
    [],
    [],
    [],
    /^medium HugePages: hugePages storage requested, but there is no resource request for huge pages$/,
  ],
  ["HugePages-1Gi", ["2Mi"], [], ["2Mi"], /^medium HugePages-1Gi: hugePages storage requested/],
];

for (const [medium, container, init, pod, expected] of HUGE_PAGES)
  for (const field of ["requests", "limits"] as const)
    test(`hugePagesOf ${medium}: ${field} ${container} of the container, ${init} of an init container, ${pod} of the pod`, () => {
      const of = (name: string, sizes: readonly string[]) => ({
        name,
        resources: { [field]: list(...sizes) },
      });
      const spec = {
        resources: { [field]: list(...pod) },
        initContainers: [of("i", init)],
        containers: [of("a", container)],
      };
      const found = hugePagesOf({ spec }, medium);
      if (expected instanceof RegExp)
        assert.match(found.kind === "fault" ? found.message : found.kind, expected);
      else
        assert.deepEqual(found, {
          kind: "pages",
          pageBytes: expected[0] * MI,
          sizeBytes: expected[1] * MI,
        });
    });
