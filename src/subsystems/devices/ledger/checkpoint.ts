// pure
/**
 * The file in which grants outlive the agent, as the Go kubelet writes it (`kubelet_internal_checkpoint`),
 * so that a node may change agents with devices in use. Its checksum is FNV-1a over a dump of the data in
 * the manner of Go's spew. What only nodelet keeps stands beside the data, where the Go kubelet does not read.
 */

import type { PodUid } from "../../../api/observation.ts";
import { base64ToBytes, bytesToBase64 } from "../../../kit/base64.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { compareText } from "../requests.ts";
import type { HeldDevice, Holding } from "./ledger.ts";

/** Contents of the file. */
export interface KeptDevices {
  readonly holdings: readonly Holding[];
  /** Healthy devices by resource, of every resource that was known. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
  /** Whether the plugin of a resource requires PreStartContainer, as far as known. */
  readonly preStart: ReadonlyMap<string, boolean>;
}

/** The parsed file. */
type ReadCheckpoint =
  | { readonly kind: "read"; readonly kept: KeptDevices }
  | { readonly kind: "broken"; readonly why: string };

/** Key of devices that are close to no NUMA node. */
const NO_NODE = -1;

const utf8 = new TextEncoder();

const DUMP_BEGIN = utf8.encode(
  "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)",
);
const DUMP_NIL = utf8.encode("<nil>");
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a, 32 bits, continued from an earlier state. */
function hashOn(state: number, bytes: Uint8Array): number {
  let hash = state;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash;
}

/** An entry as it stands in the file, and in the dump that is hashed. */
interface EncodedEntry {
  readonly json: string;
  readonly dump: Uint8Array;
}

/**
 * Writes the file's text. Remembers what it wrote for each holding, and the hash up to each, so that a
 * change at the end costs what changed and not what there is.
 */
export class CheckpointEncoder {
  readonly #entries = new WeakMap<Holding, EncodedEntry>();
  /** Hash states after each of the entries last written. */
  #prefix: { readonly holding: Holding; readonly state: number }[] = [];

  encode({ holdings, registered, preStart }: KeptDevices): string {
    const entries = holdings.map((holding) => this.#entryOf(holding));
    const devices = [...registered].sort(([a], [b]) => compareText(a, b));
    const checksum = this.#checksum(holdings, entries, devices);
    const since = holdings.flatMap(({ podUid, container, resource, since: at }) =>
      at === undefined ? [] : [[`${podUid}/${container}/${resource}`, at] as const],
    );
    const list = entries.length === 0 ? "null" : `[${entries.map(({ json }) => json).join(",")}]`;
    const resources = JSON.stringify(Object.fromEntries(devices));
    const own = JSON.stringify({
      since: Object.fromEntries(since),
      preStart: resourcesWith(preStart, true),
      noPreStart: resourcesWith(preStart, false),
    });
    return `{"Data":{"PodDeviceEntries":${list},"RegisteredDevices":${resources}},"Checksum":${checksum},"Nodelet":${own}}`;
  }

  #entryOf(holding: Holding): EncodedEntry {
    const known = this.#entries.get(holding);
    if (known) return known;
    const { podUid, container, resource, devices, answer } = holding;
    const byNode = groupByNode(devices);
    const encoded = {
      json: JSON.stringify({
        PodUID: podUid,
        ContainerName: container,
        ResourceName: resource,
        DeviceIDs: Object.fromEntries(byNode),
        AllocResp: answer ? bytesToBase64(answer) : null,
      }),
      dump: utf8.encode(dumpEntry({ podUid, container, resource, byNode, answer })),
    };
    this.#entries.set(holding, encoded);
    return encoded;
  }

  #checksum(
    holdings: readonly Holding[],
    entries: readonly EncodedEntry[],
    devices: readonly (readonly [string, readonly string[]])[],
  ): number {
    let state = hashOn(FNV_OFFSET, DUMP_BEGIN);
    if (entries.length === 0) state = hashOn(state, DUMP_NIL);
    let same = 0;
    while (same < holdings.length && this.#prefix[same]?.holding === holdings[same]) same += 1;
    const prefix = this.#prefix.slice(0, same);
    state = prefix.at(-1)?.state ?? state;
    for (const [i, holding] of holdings.entries()) {
      const entry = entries[i];
      if (i < same || !entry) continue;
      state = hashOn(state, i === 0 ? OPEN : BLANK);
      state = hashOn(state, entry.dump);
      prefix.push({ holding, state });
    }
    this.#prefix = prefix;
    if (entries.length > 0) state = hashOn(state, CLOSE);
    return hashOn(state, utf8.encode(dumpRegistered(devices))) >>> 0;
  }
}

const OPEN = utf8.encode("[");
const BLANK = utf8.encode(" ");
const CLOSE = utf8.encode("]");

interface DumpedEntry {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  /** Ids by node, as the file writes it, nodes ascending; `undefined` where the file has null. */
  readonly byNode: readonly (readonly [string, readonly string[] | undefined])[] | undefined;
  readonly answer: Uint8Array | undefined;
}

function dumpEntry({ podUid, container, resource, byNode, answer }: DumpedEntry): string {
  const ids = byNode
    ? `map[${byNode.map(([node, names]) => `${node}:${dumpList(names)}`).join(" ")}]`
    : "<nil>";
  const bytes = answer ? `[${answer.join(" ")}]` : "<nil>";
  return `{PodUID:(string)${podUid} ContainerName:(string)${container} ResourceName:(string)${resource} DeviceIDs:(checkpoint.DevicesPerNUMA)${ids} AllocResp:([]uint8)${bytes}}`;
}

function dumpList(texts: readonly string[] | undefined): string {
  return texts ? `[${texts.join(" ")}]` : "<nil>";
}

function dumpRegistered(
  devices: readonly (readonly [string, readonly string[] | undefined])[] | undefined,
): string {
  const map = devices
    ? `map[${devices.map(([resource, ids]) => `${resource}:${dumpList(ids)}`).join(" ")}]`
    : "<nil>";
  return ` RegisteredDevices:(map[string][]string)${map}}`;
}

/** A device that is close to several nodes stands with each of them. */
function groupByNode(
  devices: readonly HeldDevice[],
): readonly (readonly [string, readonly string[]])[] {
  const groups = new Map<number, string[]>();
  for (const { id, nodes } of devices) {
    const numbers = nodes.filter(isNodeNumber);
    for (const node of numbers.length === 0 ? [NO_NODE] : numbers) {
      const group = groups.get(node);
      if (group) group.push(id);
      else groups.set(node, [id]);
    }
  }
  return [...groups].sort(([a], [b]) => a - b).map(([node, ids]) => [String(node), ids]);
}

/** Whether a number can be that of a NUMA node; others are not written: the Go kubelet's integers have 64 bits. */
export function isNodeNumber(node: number): boolean {
  return Number.isSafeInteger(node) && node >= 0;
}

/** Reads the file's text. Anything that the Go kubelet would not have written is broken. */
export function decodeCheckpoint(text: string): ReadCheckpoint {
  try {
    return { kind: "read", kept: readFile(JSON.parse(text)) };
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

type Json = unknown;

function readFile(file: Json): KeptDevices {
  const { Data: data, Checksum: checksum, Nodelet: own } = objectOf(file, "the file");
  const { PodDeviceEntries: list, RegisteredDevices: devices } = objectOf(data, "Data");
  const entries = list === null || list === undefined ? undefined : arrayOf(list).map(readEntry);
  const registered =
    devices === null || devices === undefined
      ? undefined
      : Object.entries(objectOf(devices, "RegisteredDevices"))
          .map(([resource, ids]) => [resource, listOf(ids)] as const)
          .sort(([a], [b]) => compareText(a, b));
  const dumped = entries ? `[${entries.map(dumpEntry).join(" ")}]` : "<nil>";
  const sum =
    hashOn(
      hashOn(hashOn(FNV_OFFSET, DUMP_BEGIN), utf8.encode(dumped)),
      utf8.encode(dumpRegistered(registered)),
    ) >>> 0;
  if (checksum !== sum) throw new Error(`the checksum is ${String(checksum)} and should be ${sum}`);
  const extras = readExtras(own);
  return {
    holdings: (entries ?? []).flatMap((entry) => holdingOf(entry, extras.since)),
    registered: new Map((registered ?? []).map(([resource, ids]) => [resource, ids ?? []])),
    preStart: extras.preStart,
  };
}

function readEntry(value: Json): DumpedEntry {
  const entry = objectOf(value, "an entry");
  const nodes = entry["DeviceIDs"];
  const byNode =
    nodes === null || nodes === undefined
      ? undefined
      : Object.entries(objectOf(nodes, "DeviceIDs"))
          .map(([node, ids]) => [integerOf(node), listOf(ids)] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([node, ids]) => [String(node), ids] as const);
  const answer = entry["AllocResp"];
  return {
    podUid: textOf(entry["PodUID"]),
    container: textOf(entry["ContainerName"]),
    resource: textOf(entry["ResourceName"]),
    byNode,
    answer: answer === null || answer === undefined ? undefined : base64ToBytes(textOf(answer)),
  };
}

function holdingOf(entry: DumpedEntry, since: ReadonlyMap<string, WallMs>): Holding[] {
  const { podUid, container, resource, byNode = [], answer } = entry;
  const nodesOf = new Map<string, number[]>();
  for (const [text, ids] of byNode) {
    const node = Number(text);
    for (const id of ids ?? []) {
      const nodes = nodesOf.get(id) ?? [];
      if (isNodeNumber(node)) nodes.push(node);
      nodesOf.set(id, nodes);
    }
  }
  const devices = [...nodesOf]
    .map(([id, nodes]) => ({ id, nodes }))
    .sort((a, b) => compareText(a.id, b.id));
  if (devices.length === 0) return [];
  return [
    {
      podUid: podUid as PodUid,
      container,
      resource,
      devices,
      answer,
      state: "granted",
      since: since.get(`${podUid}/${container}/${resource}`),
    },
  ];
}

/** Nothing depends on these: what cannot be understood is left out. */
function readExtras(own: Json): {
  readonly since: ReadonlyMap<string, WallMs>;
  readonly preStart: ReadonlyMap<string, boolean>;
} {
  if (typeof own !== "object" || own === null) return { since: new Map(), preStart: new Map() };
  const { since, preStart, noPreStart } = own as Readonly<Record<string, Json>>;
  const times = typeof since === "object" && since !== null ? Object.entries(since) : [];
  return {
    since: new Map(times.filter((time): time is [string, WallMs] => typeof time[1] === "number")),
    preStart: new Map([
      ...textsOf(noPreStart).map((name) => [name, false] as const),
      ...textsOf(preStart).map((name) => [name, true] as const),
    ]),
  };
}

function resourcesWith(preStart: KeptDevices["preStart"], wanted: boolean): readonly string[] {
  return [...preStart].filter(([, required]) => required === wanted).map(([resource]) => resource);
}

function textsOf(list: Json): readonly string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
}

function objectOf(value: Json, what: string): Readonly<Record<string, Json>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${what} is not an object`);
  return value as Readonly<Record<string, Json>>;
}

function arrayOf(value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw new Error("a list was expected");
  return value;
}

/** `undefined` for null, which the dump shows in another way than an empty list. */
function listOf(value: Json): readonly string[] | undefined {
  return value === null ? undefined : arrayOf(value).map(textOf);
}

function textOf(value: Json): string {
  if (typeof value !== "string") throw new Error("a text was expected");
  return value;
}

/** A number of 64 bits: the Go kubelet writes whatever a plugin has sent. */
function integerOf(text: string): bigint {
  if (!/^-?\d{1,19}$/.test(text)) throw new Error(`"${text}" is not a number of a node`);
  return BigInt(text);
}
