// Messages of the runtime and of plugins.
import { decodeStatuses } from "../../../src/outside/cri/containerd-content.ts";
import { decodeEnvelope } from "../../../src/outside/cri/containerd-events.ts";
import { decodeLayers } from "../../../src/outside/cri/decode-layers.ts";
import {
  ContainerEventResponse,
  ContainerState,
  ContainerStatusResponse,
  ImageStatusResponse,
  ListContainerStatsResponse,
  ListPodSandboxResponse,
  PodSandboxState,
  PodSandboxStatusResponse,
  StatusResponse,
} from "../../../src/outside/cri/generated/api.ts";
import {
  AllocateResponse,
  ListAndWatchResponse,
  RegisterRequest,
} from "../../../src/outside/plugins/generated/deviceplugin-v1beta1/api.ts";
import { PluginInfo } from "../../../src/outside/plugins/generated/pluginregistration-v1/api.ts";
import { readDevices } from "../../../src/subsystems/devices/plugins/read-devices.ts";
import { readContainer, readSandbox } from "../../../src/subsystems/runtime/read-observation.ts";
import { outcome, same } from "../check.ts";
import { bytesTarget } from "../target.ts";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

/** With these words the decoder of protobuf refuses what is cut off or none of its own. */
const NO_PROTOBUF =
  /^(premature EOF|invalid (wire type|varint|tag|field|UTF8|int|uint|end group tag)|illegal tag|cant skip|maximum recursion depth reached|index out of range|Value is larger than|The encoded data was not valid)/;

const isNoProtobuf = (error: unknown): boolean =>
  error instanceof Error && NO_PROTOBUF.test(error.message);

const protobuf = <T>(decode: () => T): T | undefined => {
  const result = outcome(decode, isNoProtobuf);
  return result === "refused" ? undefined : result.value;
};

const METADATA = { name: "web", namespace: "shop", uid: "u1", attempt: 1 };
const SANDBOX = {
  id: "s",
  metadata: METADATA,
  state: PodSandboxState.SANDBOX_READY,
  createdAt: 1n,
  labels: { a: "b" },
  annotations: { c: "d" },
};

/** Every decoder of messages that the generated code takes apart. */
export const MESSAGE_TARGETS = [
  bytesTarget({
    name: "cri-layers",
    layout: "protobuf",
    files: ["cri/decode-layers.ts"],
    seeds: [
      ListContainerStatsResponse.encode(
        ListContainerStatsResponse.fromPartial({
          stats: [
            {
              attributes: { id: "a", labels: { b: "c" } },
              writableLayer: {
                timestamp: 5n,
                fsId: { mountpoint: "/m" },
                usedBytes: { value: 700n },
              },
              cpu: { timestamp: 1n },
            },
          ],
        }),
      ).finish(),
    ],
    run: (bytes) => {
      const few = outcome(() => decodeLayers(bytes), isNoProtobuf);
      const all = protobuf(() => ListContainerStatsResponse.decode(bytes));
      if (few === "refused" || !all) return;
      for (const { attributes } of few.value) if (attributes) same(typeof attributes.id, "string");
    },
  }),
  bytesTarget({
    name: "cri-messages",
    layout: "protobuf",
    files: ["cri/generated/api.ts", "subsystems/runtime/read-observation.ts"],
    share: 0.5,
    seeds: [
      PodSandboxStatusResponse.encode(
        PodSandboxStatusResponse.fromPartial({
          status: {
            ...SANDBOX,
            network: { ip: "10.0.0.1", additionalIps: [{ ip: "fd00::1" }] },
            linux: { namespaces: { options: { network: 2 } } },
          },
          info: { info: "{}" },
        }),
      ).finish(),
      ContainerStatusResponse.encode(
        ContainerStatusResponse.fromPartial({
          status: {
            id: "c",
            metadata: { name: "main", attempt: 2 },
            state: ContainerState.CONTAINER_EXITED,
            createdAt: 1n,
            startedAt: 2n,
            finishedAt: 3n,
            exitCode: 137,
            reason: "OOMKilled",
            image: { image: "a:1" },
            labels: { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": "u1" },
            annotations: {
              "io.kubernetes.container.restartCount": "2",
              "io.kubernetes.container.hash": "1",
            },
          },
        }),
      ).finish(),
      ListPodSandboxResponse.encode(
        ListPodSandboxResponse.fromPartial({ items: [SANDBOX] }),
      ).finish(),
      StatusResponse.encode(
        StatusResponse.fromPartial({
          status: { conditions: [{ type: "RuntimeReady", status: true }] },
          info: { config: "{}" },
        }),
      ).finish(),
    ],
    run: (bytes) => {
      const container = protobuf(() => ContainerStatusResponse.decode(bytes));
      if (container?.status) readContainer("s", container.status, "");
      const sandbox = protobuf(() => PodSandboxStatusResponse.decode(bytes));
      const listed = protobuf(() => ListPodSandboxResponse.decode(bytes));
      if (sandbox?.status && listed)
        for (const item of listed.items) readSandbox(item, sandbox.status, false);
      protobuf(() => StatusResponse.decode(bytes));
      protobuf(() => ImageStatusResponse.decode(bytes));
      protobuf(() => ContainerEventResponse.decode(bytes));
    },
  }),
  bytesTarget({
    name: "containerd-messages",
    layout: "protobuf",
    files: ["cri/containerd-events.ts", "cri/containerd-content.ts"],
    seeds: [
      hex("0a06 08f0a3cba906 1a0b 2f7461736b732f65786974 2208 1206 0a0161 120162"),
      hex("0a0a 1a04 6c617972 2005 280a"),
    ],
    run: (bytes) => {
      protobuf(() => decodeEnvelope(bytes));
      protobuf(() => decodeStatuses(bytes));
    },
  }),
  bytesTarget({
    name: "device-plugin-messages",
    layout: "protobuf",
    files: ["devices/plugins/read-devices.ts"],
    seeds: [
      ListAndWatchResponse.encode(
        ListAndWatchResponse.fromPartial({
          devices: [{ ID: "d1", health: "Healthy", topology: { nodes: [{ ID: 1n }] } }],
        }),
      ).finish(),
      RegisterRequest.encode(
        RegisterRequest.fromPartial({
          version: "v1beta1",
          endpoint: "a.sock",
          resourceName: "a.example/b",
          options: { preStartRequired: true },
        }),
      ).finish(),
      PluginInfo.encode(
        PluginInfo.fromPartial({
          type: "DevicePlugin",
          name: "a",
          endpoint: "/a",
          supportedVersions: ["v1"],
        }),
      ).finish(),
    ],
    run: (bytes) => {
      const list = protobuf(() => ListAndWatchResponse.decode(bytes));
      if (list) readDevices(list.devices);
      protobuf(() => RegisterRequest.decode(bytes));
      protobuf(() => PluginInfo.decode(bytes));
      protobuf(() => AllocateResponse.decode(bytes));
    },
  }),
];
