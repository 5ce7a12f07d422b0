// pure
/**
 * `dra_manager_state`, in which claims outlive the agent, as the Go kubelet writes it: a text of JSON within JSON, with its
 * CRC-32. A node may change between agents with claims in use. Source: cm/dra/state.
 */
import type { PodUid } from "../../api/pod-identity.ts";
import { crc32 } from "../../api/text/crc32.ts";
import { goJson } from "../../api/text/go-json.ts";
import { isTree } from "../../kit/json.ts";
import type { ClaimInfo, PreparedDevice } from "./claim-info.ts";

/** The file as it was understood. */
type DecodedClaims =
  | { readonly kind: "read"; readonly claims: readonly ClaimInfo[] }
  | { readonly kind: "broken"; readonly why: string };

const KIND = { kind: "DRACheckpoint", apiVersion: "checkpoint.dra.kubelet.k8s.io/v1" };

/** The file's text. */
export function encodeClaims(claims: readonly ClaimInfo[]): string {
  const Data = goJson({ ...KIND, ClaimInfoStateList: claims.map(encodeClaim) });
  return goJson({ Data, Checksum: crc32(Data) });
}

function encodeClaim({ uid, name, namespace, pods, drivers }: ClaimInfo): object {
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: sorted([...pods].map((pod) => [pod, {}] as const)),
    DriverState: sorted(
      [...drivers].map(([driver, devices]) => [
        driver,
        { Devices: orNull(devices.map(encodeDevice)) },
      ]),
    ),
  };
}

function encodeDevice({ pool, device, shareId, requests, cdiIds }: PreparedDevice): object {
  return {
    PoolName: pool,
    DeviceName: device,
    ShareID: shareId ?? null,
    RequestNames: orNull(requests),
    CDIDeviceIDs: orNull(cdiIds),
  };
}

/** As Go writes a list that was never made. */
const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

const sorted = (entries: readonly (readonly [string, unknown])[]): object =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/** Reads the file's text. Kind and version are not asked for, unknown fields ignored, missing ones empty. */
export function decodeClaims(text: string): DecodedClaims {
  try {
    const file: unknown = JSON.parse(text);
    if (!isTree(file) || typeof file["Data"] !== "string") return BROKEN;
    if (file["Checksum"] !== crc32(file["Data"])) return BROKEN;
    const data: unknown = JSON.parse(file["Data"]);
    if (!isTree(data)) return BROKEN;
    return { kind: "read", claims: listOf(data["ClaimInfoStateList"]).map(decodeClaim) };
  } catch {
    return BROKEN;
  }
}

const BROKEN: DecodedClaims = { kind: "broken", why: "checkpoint is corrupted" };

type Tree = Readonly<Record<string, unknown>>;

function decodeClaim(claim: Tree): ClaimInfo {
  return {
    uid: textOf(claim["ClaimUID"]),
    name: textOf(claim["ClaimName"]),
    namespace: textOf(claim["Namespace"]),
    pods: new Set(Object.keys(treeOf(claim["PodUIDs"])) as PodUid[]),
    drivers: new Map(
      Object.entries(treeOf(claim["DriverState"])).map(([driver, state]) => [
        driver,
        listOf(treeOf(state)["Devices"]).map(decodeDevice),
      ]),
    ),
    isPrepared: false,
  };
}

function decodeDevice(device: Tree): PreparedDevice {
  const share = device["ShareID"];
  return {
    pool: textOf(device["PoolName"]),
    device: textOf(device["DeviceName"]),
    shareId: typeof share === "string" ? share : undefined,
    requests: textsOf(device["RequestNames"]),
    cdiIds: textsOf(device["CDIDeviceIDs"]),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const treeOf = (value: unknown): Tree => (isTree(value) ? value : {});
const listOf = (value: unknown): readonly Tree[] =>
  Array.isArray(value) ? value.filter(isTree) : [];
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
