import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { WallMs } from "../../kit/clock.ts";
import type { GrpcChannel } from "../grpc/channel.ts";
import type { RuntimeEvent } from "./cri.ts";

/**
 * containerd's own event service, which every version has on the same socket, long before CRI's
 * GetContainerEvents. Only the fields we read are decoded (containerd api/services/events/v1,
 * api/events/task.proto).
 */
const SERVICE = "containerd.services.events.v1.Events";

/** Task events of the namespace CRI works in. */
const FILTERS = [
  `namespace==k8s.io,topic=="/tasks/start"`,
  `namespace==k8s.io,topic=="/tasks/exit"`,
  `namespace==k8s.io,topic=="/tasks/oom"`,
] as const;

const KINDS: Readonly<Record<string, RuntimeEvent["kind"]>> = {
  "/tasks/start": "started",
  "/tasks/exit": "stopped",
  "/tasks/oom": "oom",
};

interface SubscribeRequest {
  readonly filters: readonly string[];
}

/** An event as far as we read it; `processId` differs from `containerId` for exec'd processes. */
interface Envelope {
  readonly topic: string;
  readonly containerId: string;
  readonly processId: string;
  readonly createdAtMs: WallMs;
}

const subscribe = {
  name: "Subscribe",
  requestType: {
    encode: (message: SubscribeRequest) => {
      const writer = new BinaryWriter();
      for (const filter of message.filters) writer.uint32((1 << 3) | 2).string(filter);
      return writer;
    },
  },
  responseType: { decode: decodeEnvelope },
} as const;

/** Starts, ends and out-of-memory kills of containers and sandboxes; throws when the stream breaks. */
export async function* containerdEvents(
  channel: GrpcChannel,
  signal: AbortSignal,
): AsyncIterable<RuntimeEvent> {
  for await (const envelope of channel.serverStream(
    subscribe,
    SERVICE,
    { filters: FILTERS },
    { signal },
  )) {
    const kind = KINDS[envelope.topic];
    const execEnded = envelope.processId !== "" && envelope.processId !== envelope.containerId;
    if (kind !== undefined && !execEnded)
      yield {
        containerId: envelope.containerId,
        podUid: undefined,
        kind,
        createdAtMs: envelope.createdAtMs,
      };
  }
}

/** Envelope{ timestamp = 1: Timestamp{ seconds = 1, nanos = 2 }, topic = 3, event = 4: Any{ value = 2: TaskX{ container_id = 1, id = 2 (exit only) } } }. */
export function decodeEnvelope(input: Uint8Array): Envelope {
  const fields = decodeLengthDelimited(input);
  const topic = text(fields.get(3));
  const payload = decodeLengthDelimited(
    decodeLengthDelimited(fields.get(4) ?? new Uint8Array()).get(2) ?? new Uint8Array(),
  );
  const processId = topic === "/tasks/exit" ? text(payload.get(2)) : "";
  const createdAtMs = decodeTimestamp(fields.get(1) ?? new Uint8Array());
  return { topic, containerId: text(payload.get(1)), processId, createdAtMs };
}

/** The last value of every length-delimited field; all else is skipped. */
function decodeLengthDelimited(input: Uint8Array): Map<number, Uint8Array> {
  const reader = new BinaryReader(input);
  const fields = new Map<number, Uint8Array>();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if ((tag & 7) === 2) fields.set(tag >>> 3, reader.bytes());
    else reader.skip(tag & 7);
  }
  return fields;
}

function decodeTimestamp(input: Uint8Array): WallMs {
  const reader = new BinaryReader(input);
  let ms = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) ms += Number(reader.int64()) * 1000;
    else if (tag >>> 3 === 2) ms += reader.int32() / 1e6;
    else reader.skip(tag & 7);
  }
  return ms as WallMs;
}

function text(bytes: Uint8Array | undefined): string {
  return bytes ? Buffer.from(bytes).toString("utf8") : "";
}
