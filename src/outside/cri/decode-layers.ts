import { BinaryReader } from "@bufbuild/protobuf/wire";
import { FilesystemUsage } from "./generated/api.ts";

/** The writable layer of one container: the part of `ContainerStats` that the agent reads. */
export interface ContainerLayer {
  readonly attributes?: { readonly id: string } | undefined;
  readonly writableLayer?: FilesystemUsage | undefined;
}

/** Tags of length-delimited fields: the field's number and wire type 2. */
const STATS = 10;
const STATS_ATTRIBUTES = 10;
const STATS_WRITABLE_LAYER = 34;
const ATTRIBUTES_ID = 10;

/**
 * Decodes a `ListContainerStatsResponse`, but of each container only its id and its writable layer. The rest is ten
 * times as much, and with a hundred containers makes several thousand objects each time. Throws for a message that is
 * cut off.
 */
export function decodeLayers(input: Uint8Array): readonly ContainerLayer[] {
  const reader = new BinaryReader(input);
  const layers: ContainerLayer[] = [];
  readFields(reader, reader.len, (tag) => {
    if (tag !== STATS) return false;
    layers.push(readLayer(reader));
    return true;
  });
  return layers;
}

function readLayer(reader: BinaryReader): ContainerLayer {
  const layer: { attributes?: { readonly id: string }; writableLayer?: FilesystemUsage } = {};
  readFields(reader, endOfField(reader), (tag) => {
    if (tag === STATS_ATTRIBUTES) layer.attributes = { id: readId(reader) };
    else if (tag === STATS_WRITABLE_LAYER)
      layer.writableLayer = FilesystemUsage.decode(reader, reader.uint32());
    else return false;
    return true;
  });
  return layer;
}

function readId(reader: BinaryReader): string {
  let id = "";
  readFields(reader, endOfField(reader), (tag) => {
    if (tag !== ATTRIBUTES_ID) return false;
    id = reader.string();
    return true;
  });
  return id;
}

/** Reads the length of a field; returns the offset of its end. */
function endOfField(reader: BinaryReader): number {
  const length = reader.uint32();
  return reader.pos + length;
}

/** Hands each tag to `read`, which returns whether it has read the field; others are skipped. */
function readFields(reader: BinaryReader, end: number, read: (tag: number) => boolean): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!read(tag)) reader.skip(tag & 7);
  }
}
