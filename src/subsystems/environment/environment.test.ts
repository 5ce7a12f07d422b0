import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Secret } from "../../api/generated/types.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import { bytesToBase64 } from "../../kit/base64.ts";
import type { ObjectSource } from "../../outside/kube/kube.ts";
import { Environments } from "./environment.ts";

const SECRET: Secret = {
  metadata: { name: "keys", namespace: "ns" },
  data: {
    word: bytesToBase64(new TextEncoder().encode("größe\u{1f511}")),
    "store.jks": bytesToBase64(Uint8Array.of(0xfe, 0xed, 0xfe, 0xed)),
    cut: bytesToBase64(Uint8Array.of(0x61, 0xc3)),
    empty: "",
  },
};
const OBJECTS: ObjectSource = {
  follow: () => () => {},
  get: <T>() => Promise.resolve(SECRET as T),
  list: () => Promise.resolve([]),
};
const SIGNAL = new AbortController().signal;

async function environmentOf(container: Partial<Container>) {
  const skipped: string[] = [];
  const environments = new Environments(
    { nodeName: "n", allocatable: { cpuMilli: 0, memoryBytes: 0, ephemeralStorageBytes: 0 } },
    {
      objects: OBJECTS,
      readVolumeFile: () => Promise.resolve(undefined),
      events: { ofPod: (_pod, { message }) => skipped.push(message) },
    },
  );
  const pod = identifyPod({ metadata: { name: "p", namespace: "ns", uid: "u" } });
  const request = { pod, container: { name: "c", ...container }, podIps: [], hostIps: [] };
  return { found: await environments.of(request, SIGNAL), skipped };
}

const keyed = (key: string): Partial<Container> => ({
  env: [{ name: "A", valueFrom: { secretKeyRef: { name: "keys", key } } }],
});

test("of: a key whose value is not UTF-8 is refused by its name", async () => {
  const word = await environmentOf(keyed("word"));
  assert.deepEqual(word.found, { kind: "env", entries: [{ name: "A", value: "größe\u{1f511}" }] });
  const empty = await environmentOf(keyed("empty"));
  assert.deepEqual(empty.found, { kind: "env", entries: [{ name: "A", value: "" }] });
  for (const key of ["store.jks", "cut"]) {
    const { found } = await environmentOf(keyed(key));
    assert.deepEqual(found, {
      kind: "fault",
      message: `the value of key ${key} in Secret ns/keys is not UTF-8, but environment variables must be (mount it as a volume instead)`,
    });
  }
});

test("of: envFrom leaves values out that are not UTF-8, and names their keys", async () => {
  const { found, skipped } = await environmentOf({
    envFrom: [{ prefix: "P_", secretRef: { name: "keys" } }],
  });
  assert.deepEqual(found, {
    kind: "env",
    entries: [
      { name: "P_word", value: "größe\u{1f511}" },
      { name: "P_empty", value: "" },
    ],
  });
  assert.deepEqual(skipped, [
    "Keys [cut, store.jks] from the EnvFrom secret ns/keys were skipped since their values are not UTF-8, but environment variables must be",
  ]);
});
