import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { GrpcChannel } from "../grpc/channel.ts";

/**
 * containerd's content service, as far as it reports the progress of downloads: CRI has no such call
 * (containerd api/services/content/v1). Only the fields we read are decoded.
 */
const SERVICE = "containerd.services.content.v1.Content";
/** The namespace CRI works in. */
const HEADERS = { "containerd-namespace": "k8s.io" };

/** A piece of an image that is being written. */
export interface ContentDownload {
  /** Reference of the content, such as `layer-sha256:…`. */
  readonly ref: string;
  readonly doneBytes: number;
  /** 0 as long as it is not known. */
  readonly totalBytes: number;
}

const listStatuses = {
  name: "ListStatuses",
  requestType: { encode: (_: object) => new BinaryWriter() },
  responseType: { decode: decodeStatuses },
} as const;

/** Content that is being written now. Throws `OutsideError`. */
export async function listDownloads(
  channel: GrpcChannel,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly ContentDownload[]> {
  return await channel.unary(listStatuses, SERVICE, {}, { signal, timeoutMs, headers: HEADERS });
}

/** ListStatusesResponse{ statuses = 1: Status{ ref = 3, offset = 4, total = 5 } }. */
export function decodeStatuses(input: Uint8Array): readonly ContentDownload[] {
  const reader = new BinaryReader(input);
  const found: ContentDownload[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((1 << 3) | 2)) found.push(decodeStatus(reader.bytes()));
    else reader.skip(tag & 7);
  }
  return found;
}

function decodeStatus(input: Uint8Array): ContentDownload {
  const reader = new BinaryReader(input);
  let ref = "";
  let doneBytes = 0;
  let totalBytes = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((3 << 3) | 2)) ref = reader.string();
    else if (tag === 4 << 3) doneBytes = Number(reader.int64());
    else if (tag === 5 << 3) totalBytes = Number(reader.int64());
    else reader.skip(tag & 7);
  }
  return { ref, doneBytes, totalBytes };
}
