// What the agent finds on disk when it is started: its own files, and the Go kubelet's.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readImageArchive } from "../../../src/cli/local-images/read-archive.ts";
import { writeTar } from "../../../src/cli/local-images/tar.ts";
import { parseRules } from "../../../src/cli/up/network-traces.ts";
import { UsageError } from "../../../src/kit/errors.ts";
import { isTree } from "../../../src/kit/json.ts";
import { parseLastExit } from "../../../src/node/last-exit.ts";
import {
  checksumOf,
  encodeAllocations,
  parseAllocations,
} from "../../../src/pipeline/admission/allocation-checkpoint.ts";
import { decodeFlight } from "../../../src/pipeline/pods/flight/flight-text.ts";
import { CliError } from "../../../src/present/cli-error.ts";
import { decodeCheckpoint } from "../../../src/subsystems/devices/ledger/checkpoint.ts";
import { readNote } from "../../../src/subsystems/devices/ledger/container-parts.ts";
import { parseHistoryLine } from "../../../src/subsystems/events/history-lines.ts";
import { readSummary } from "../../../src/subsystems/eviction/recorded.ts";
import { decodeKept, encodeKept } from "../../../src/subsystems/images/checkpoint.ts";
import {
  decodeIntent,
  decodeRecord,
  encodeRecord,
} from "../../../src/subsystems/images/credentials/pulled-record.ts";
import { parseMappings, parseSubIds } from "../../../src/subsystems/runtime/security/id-ranges.ts";
import { same } from "../check.ts";
import { bytesTarget, textTarget } from "../target.ts";

const NOW_MS = 1_790_000_000_000;

const DEVICES = {
  Data: {
    PodDeviceEntries: [
      {
        PodUID: "u1",
        ContainerName: "c",
        ResourceName: "a.example/gpu",
        DeviceIDs: { "0": ["d1"], "-1": ["d2"] },
        AllocResp: "EgA=",
      },
    ],
    RegisteredDevices: { "a.example/gpu": ["d1", "d2"] },
  },
  Checksum: 0,
  Nodelet: { since: {}, preStart: [] },
};

/** A checkpoint with the sum that it should have: others are refused before anything else is read. */
function withRightSum(text: string): string {
  const read = decodeCheckpoint(text);
  const [, sum] = (read.kind === "broken" && /and should be (\d+)$/.exec(read.why)) || [];
  return sum === undefined ? text : text.replace(/"Checksum":[^,}]*/, `"Checksum":${sum}`);
}

const ENTRIES = {
  u1: { ContainerResources: { c: { requests: { cpu: "1" } } }, PodLevelResources: null },
};

const FLIGHT = [
  { kind: "header", format: 1, version: "0.1.0", node: "n" },
  { kind: "begin", atMs: 1, uid: "u1" },
  { kind: "signal", atMs: 2, uid: "u1" },
  { kind: "decision", atMs: 3 },
]
  .map((line) => JSON.stringify(line))
  .join("\n");

const OCI_INDEX = {
  schemaVersion: 2,
  manifests: [
    {
      mediaType: "m",
      digest: "sha256:0",
      size: 1,
      annotations: { "io.containerd.image.name": "a.example/b:1" },
    },
  ],
};
const tarOf = (files: Readonly<Record<string, unknown>>): Uint8Array =>
  writeTar(
    Object.entries(files).map(([path, content]) => ({
      kind: "file",
      path,
      content: Buffer.from(JSON.stringify(content)),
    })),
  );

let folder: string | undefined;

/** A file in memory, where there is such a folder. */
function archivePath(): string {
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), "nodelet-fuzz-"));
    const made = folder;
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  }
  return join(folder, "image.tar");
}

/** Every decoder of a file of state. */
export const STATE_TARGETS = [
  textTarget({
    name: "allocations",
    layout: "json",
    files: ["pipeline/admission/allocation-checkpoint.ts"],
    words: ["ContainerResources", "PodLevelResources", "requests", "limits", "cpu", "entries"],
    seeds: [JSON.stringify({ entries: ENTRIES }), encodeAllocations(new Map())],
    run: (text) => {
      parseAllocations(text);
      const read = parseAllocations(JSON.stringify({ data: text, checksum: checksumOf(text) }));
      if (read.kind !== "read") return;
      same(parseAllocations(encodeAllocations(read.allocations)), { ...read, groups: new Map() });
    },
  }),
  textTarget({
    name: "device-checkpoint",
    layout: "json",
    files: ["devices/ledger/checkpoint.ts"],
    words: ["PodUID", "ContainerName", "DeviceIDs", "AllocResp", "-1", "RegisteredDevices"],
    seeds: [JSON.stringify(DEVICES)],
    run: (text) => {
      decodeCheckpoint(text);
      decodeCheckpoint(withRightSum(text));
    },
  }),
  textTarget({
    name: "pulled-images",
    layout: "json",
    files: ["images/credentials/pulled-record.ts"],
    words: [
      "ImagePulledRecord",
      "ImagePullIntent",
      "nodePodsAccessible",
      "kubernetesSecrets",
      "imageRef",
    ],
    seeds: [
      JSON.stringify({
        kind: "ImagePulledRecord",
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        lastUpdatedTime: "2026-11-22T00:00:00Z",
        imageRef: "sha256:0",
        credentialMapping: {
          "a.example/b": {
            kubernetesSecrets: [{ uid: "u", namespace: "n", name: "s", credentialHash: "h" }],
          },
          "c.example/d": { nodePodsAccessible: true },
        },
      }),
      '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"a"}',
    ],
    run: (text) => {
      decodeIntent(text);
      const record = decodeRecord(text);
      if (record) same(Object.getPrototypeOf(record.access) === Object.prototype, true);
      if (!record || !(record.lastUpdatedMs >= 0 && record.lastUpdatedMs < 1e14)) return;
      const again = decodeRecord(encodeRecord(record));
      same(again && { ...again, lastUpdatedMs: 0 }, { ...record, lastUpdatedMs: 0 });
    },
  }),
  textTarget({
    name: "image-times",
    layout: "json",
    files: ["subsystems/images/checkpoint.ts"],
    words: ["format", "images", "wanted", "firstDetectedMs", "lastUsedMs", "pullMs"],
    seeds: [
      encodeKept({
        images: new Map([["sha256:0", { firstDetectedMs: 1, lastUsedMs: 2, pullMs: 3 }]]),
        requested: new Map([["a:1", { atMs: 4, pod: "p" }]]),
      }),
    ],
    run: (text) => {
      const kept = decodeKept(text, NOW_MS);
      if (kept) same(decodeKept(encodeKept(kept), NOW_MS), kept);
    },
  }),
  textTarget({
    name: "event-history",
    layout: "json",
    files: ["subsystems/events/history-lines.ts"],
    words: ["e", "n", "m", "f", "c", "cf", "metadata", "involvedObject", "count", "series"],
    seeds: [
      '{"t":1,"e":{"metadata":{"name":"a","namespace":"b"},"involvedObject":{"kind":"Pod"},"reason":"Started"}}',
      '{"t":1,"n":"b/a","m":"c"}',
    ],
    run: (text) => void parseHistoryLine(text),
  }),
  textTarget({
    name: "small-state",
    layout: "json",
    files: ["node/last-exit.ts", "devices/ledger/container-parts.ts", "security/id-ranges.ts"],
    words: [
      "userns",
      "uidMappings",
      "gidMappings",
      "hostID",
      "containerID",
      "size",
      "0: kubelet 65536 7208960",
    ],
    seeds: [
      '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}',
      '{"a.example/gpu":["d1","d2"]}',
      "0: kubelet 65536 7208960\n",
      '{"kind":"stopped","atMs":1,"why":"SIGTERM"}',
    ],
    run: (text) => {
      parseLastExit(text);
      readNote(text);
      parseMappings(text);
      parseSubIds(text);
    },
  }),
  textTarget({
    name: "recordings",
    files: ["pods/flight/flight-text.ts"],
    words: ['"kind":', "header", "begin", "signal", "plan", "\n", "decision"],
    seeds: [FLIGHT],
    refuses: [Error],
    run: (text) => void decodeFlight(text),
  }),
  textTarget({
    name: "summary",
    layout: "json",
    files: ["subsystems/eviction/recorded.ts"],
    words: ["usedBytes", "inodesUsed", "rootfs", "logs", "workingSetBytes", "podRef"],
    seeds: [
      JSON.stringify({
        node: {
          nodeName: "n",
          memory: { availableBytes: 1, workingSetBytes: 2 },
          fs: { availableBytes: 1, capacityBytes: 2, inodes: 3, inodesFree: 1 },
          rlimit: { maxpid: 1, curproc: 1 },
        },
        pods: [
          {
            podRef: { name: "a", namespace: "b", uid: "c" },
            memory: { workingSetBytes: 1 },
            containers: [{ name: "c", rootfs: { usedBytes: 1 }, logs: { usedBytes: 1 } }],
            volume: [{ name: "v", usedBytes: 1 }],
          },
        ],
      }),
    ],
    refuses: [UsageError],
    run: (text) => {
      const value = parsed(text);
      if (isTree(value)) readSummary(value);
    },
  }),
  textTarget({
    name: "iptables-rules",
    files: ["cli/up/network-traces.ts"],
    words: ["-A ", "-N ", "-P ", "-s ", "-j ", "-m comment --comment ", '"', "CNI-", "KUBE-"],
    seeds: [
      '-P INPUT ACCEPT\n-N CNI-a\n-A CNI-a -d 10.85.0.0/16 -m comment --comment "name: \\"a\\" id: \\"b\\"" -j ACCEPT\n',
    ],
    run: (text) => void parseRules(text),
  }),
  bytesTarget({
    name: "image-archive",
    layout: "tar",
    files: ["local-images/read-archive.ts", "local-images/archive-contents.ts"],
    share: 0.1,
    seeds: [
      tarOf({ "oci-layout": { imageLayoutVersion: "1.0.0" }, "index.json": OCI_INDEX }),
      tarOf({
        "a/layer.tar": 1,
        "manifest.json": [{ Config: "a.json", RepoTags: ["a:1"], Layers: ["a/layer.tar"] }],
      }),
    ],
    refuses: [CliError],
    run: (bytes) => {
      const path = archivePath();
      writeFileSync(path, bytes);
      readImageArchive(path, undefined);
      readImageArchive(path, "b.example/c:2");
    },
  }),
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
