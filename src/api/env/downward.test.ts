import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container } from "../generated/types.ts";
import type { IdentifiedPod, PodUid } from "../pod-identity.ts";
import { goQuote } from "../text/go-quote.ts";
import { envFieldText, fieldText, formatMap, resourceText } from "./downward.ts";

// Vectors of Go's strconv.Quote.
const QUOTES: readonly (readonly [string, string])[] = [
  ["", '""'],
  ["plain", '"plain"'],
  ['say "hi"', '"say \\"hi\\""'],
  ["a\\b", '"a\\\\b"'],
  ["tab\there\nline", '"tab\\there\\nline"'],
  ["\u0007\b\f\r\v", '"\\a\\b\\f\\r\\v"'],
  ["\u0000\u001f\u007f", '"\\x00\\x1f\\x7f"'],
  ["ü 日本 😀", '"ü 日本 😀"'],
  ["\u00a0\u200b", '"\\u00a0\\u200b"'],
  ["\u{e0001}", '"\\U000e0001"'],
];

for (const [text, quoted] of QUOTES)
  test(`goQuote writes ${JSON.stringify(text)} as Go does`, () => {
    assert.equal(goQuote(text), quoted);
  });

const pod: IdentifiedPod = {
  metadata: {
    name: "web",
    namespace: "shop",
    uid: "u-1" as PodUid,
    labels: { tier: "front", app: "web" },
    annotations: { note: "two\nlines", "example.com/x": "1" },
  },
  spec: {
    serviceAccountName: "robot",
    containers: [
      {
        name: "a",
        resources: {
          requests: { cpu: "250m", memory: "64Mi", "hugepages-2Mi": "4Mi" },
          limits: { cpu: "1500m", "hugepages-2Mi": "4Mi" },
        },
      },
      { name: "b" },
    ],
    initContainers: [{ name: "setup", resources: { limits: { memory: "1Gi" } } }],
  },
};

test("formatMap sorts by key and ends without a newline", () => {
  assert.equal(formatMap({ b: "2", a: '"' }), 'a="\\""\nb="2"');
  assert.equal(formatMap(undefined), "");
});

const FIELDS: readonly (readonly [string, string])[] = [
  ["metadata.name", "web"],
  ["metadata.namespace", "shop"],
  ["metadata.uid", "u-1"],
  ["metadata.labels", 'app="web"\ntier="front"'],
  ["metadata.annotations", 'example.com/x="1"\nnote="two\\nlines"'],
  ["metadata.labels['app']", "web"],
  ["metadata.labels['none']", ""],
  ["metadata.annotations['note']", "two\nlines"],
];

for (const [path, text] of FIELDS)
  test(`fieldText gives ${path}`, () => {
    assert.deepEqual(fieldText(pod, path), { kind: "text", text });
  });

test("fieldText refuses other fields", () => {
  const message = "unsupported fieldPath: status.phase";
  assert.deepEqual(fieldText(pod, "status.phase"), { kind: "fault", message });
});

const PLACE = {
  nodeName: "n1",
  hostIps: ["192.0.2.1", "2001:db8::1"],
  podIps: ["10.0.0.2", "fd00::2"],
};
const ENV_FIELDS: readonly (readonly [string, string])[] = [
  ["spec.nodeName", "n1"],
  ["spec.host", "n1"],
  ["spec.serviceAccountName", "robot"],
  ["status.hostIP", "192.0.2.1"],
  ["status.hostIPs", "192.0.2.1,2001:db8::1"],
  ["status.podIP", "10.0.0.2"],
  ["status.podIPs", "10.0.0.2,fd00::2"],
  ["metadata.name", "web"],
];

for (const [fieldPath, text] of ENV_FIELDS)
  test(`envFieldText gives ${fieldPath}`, () => {
    assert.deepEqual(envFieldText(pod, { fieldPath }, PLACE), { kind: "text", text });
  });

const ALLOCATABLE = {
  cpuMilli: 3500,
  memoryBytes: 8 * 2 ** 30 + 1,
  ephemeralStorageBytes: 10 ** 10,
};
/** Container (empty: the own one, `b`), resource, divisor, result. */
const RESOURCES: readonly (readonly [string, string, string | undefined, string])[] = [
  ["a", "limits.cpu", undefined, "2"],
  ["a", "limits.cpu", "1m", "1500"],
  ["a", "limits.cpu", "0", "2"],
  ["a", "requests.cpu", "1", "1"],
  ["a", "requests.memory", "1Mi", "64"],
  ["a", "requests.memory", undefined, "67108864"],
  ["a", "requests.hugepages-2Mi", "1Ki", "4096"],
  // Missing limits count as the node's allocatable amounts, missing requests as zero.
  ["a", "limits.memory", "1Mi", "8193"],
  ["", "limits.cpu", undefined, "4"],
  ["", "limits.ephemeral-storage", "1G", "10"],
  ["", "requests.memory", "1", "0"],
  ["setup", "limits.memory", "1Gi", "1"],
];

for (const [containerName, resource, divisor, text] of RESOURCES)
  test(`resourceText of "${containerName}" ${resource} by ${divisor} is ${text}`, () => {
    const own = pod.spec?.containers?.[1] as Container;
    const selector = { containerName, resource, ...(divisor === undefined ? {} : { divisor }) };
    assert.deepEqual(resourceText(pod, selector, ALLOCATABLE, own), { kind: "text", text });
  });

/** Resource of the container `a` or `b` of a pod with limits of its own, result. */
const OF_POD: readonly (readonly [string, string, string])[] = [
  ["a", "limits.cpu", "1500"],
  ["a", "limits.memory", "1073741824"],
  ["b", "limits.cpu", "3000"],
  ["b", "limits.memory", "1073741824"],
  ["b", "limits.ephemeral-storage", "10000000000"],
  ["b", "limits.hugepages-2Mi", "0"],
  ["b", "requests.memory", "0"],
];

for (const [containerName, resource, text] of OF_POD)
  test(`resourceText of "${containerName}" ${resource} in a pod with limits is ${text}`, () => {
    const limits = { cpu: "3", memory: "1Gi", "hugepages-2Mi": "4Mi" };
    const limited = { ...pod, spec: { containers: [], ...pod.spec, resources: { limits } } };
    const divisor = resource.endsWith("cpu") ? "1m" : "1";
    const found = resourceText(limited, { containerName, resource, divisor }, ALLOCATABLE);
    assert.deepEqual(found, { kind: "text", text });
  });

test("resourceText says what it does not know", () => {
  const fault = (containerName: string, resource: string) => {
    const found = resourceText(pod, { containerName, resource }, ALLOCATABLE);
    return found.kind === "fault" ? found.message : "";
  };
  assert.equal(fault("none", "limits.cpu"), "container none not found");
  assert.equal(fault("a", "limits.gpu"), "unsupported container resource : limits.gpu");
});
