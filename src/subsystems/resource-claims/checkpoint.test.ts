import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeClaims, encodeClaims } from "./checkpoint.ts";

const X = {
  ClaimUID: "067798be-454e-4be4-9047-1aa06aea63f7",
  ClaimName: "example",
  Namespace: "default",
  PodUIDs: { "139cdb46-f989-4f17-9561-ca10cfb509a6": {} },
  DriverState: {
    "test-driver.cdi.k8s.io": {
      Devices: [
        {
          PoolName: "worker-1",
          DeviceName: "dev-1",
          ShareID: null as string | null,
          RequestNames: ["test request"] as readonly string[] | null,
          CDIDeviceIDs: ["example.com/example=cdi-example"] as readonly string[] | null,
        },
      ],
    },
  },
};
const [DEVICE] = X.DriverState["test-driver.cdi.k8s.io"].Devices;
if (!DEVICE) throw new Error("no device");
const withDevices = (claim: object, ...Devices: readonly object[]) => ({
  ...claim,
  DriverState: { "test-driver.cdi.k8s.io": { Devices } },
});
const { ShareID: _, RequestNames: __, ...OLD_DEVICE } = DEVICE;
const V1 = "checkpoint.dra.kubelet.k8s.io/v1";
const dataOf = (ClaimInfoStateList: unknown, apiVersion = V1) =>
  JSON.stringify({ kind: "DRACheckpoint", apiVersion, ClaimInfoStateList });

/** What the file holds, its checksum, and whether we write it alike. */
const VECTORS: readonly (readonly [string, string, number, "alike" | "read only"])[] = [
  ["1: no list", dataOf(null), 4010664294, "read only"],
  ["2: an empty list", dataOf([]), 2361995144, "alike"],
  ["3: a claim", dataOf([X]), 2570581864, "alike"],
  [
    "4: a share",
    dataOf([withDevices(X, { ...DEVICE, ShareID: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa" })]),
    736302156,
    "alike",
  ],
  [
    "5: no devices yet",
    dataOf([
      {
        ClaimUID: "c1",
        ClaimName: "n1",
        Namespace: "default",
        PodUIDs: { p1: {} },
        DriverState: { d1: { Devices: null } },
      },
    ]),
    85395600,
    "alike",
  ],
  [
    "6: two devices",
    dataOf([withDevices(X, DEVICE, { ...DEVICE, DeviceName: "dev-2" })]),
    1223221469,
    "alike",
  ],
  [
    "7: two claims",
    dataOf([
      { ...X, ClaimName: "example-1" },
      withDevices(
        {
          ...X,
          ClaimUID: "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
          ClaimName: "example-2",
        },
        { ...DEVICE, DeviceName: "dev-2", RequestNames: null, CDIDeviceIDs: null },
      ),
    ]),
    2820117767,
    "alike",
  ],
  ["8: of an older kubelet", dataOf([withDevices(X, OLD_DEVICE)]), 1137250765, "read only"],
  [
    "9: of an unknown version",
    dataOf([withDevices(X, OLD_DEVICE)], V1.replace("v1", "v0")),
    1284376732,
    "read only",
  ],
];

for (const [name, Data, Checksum, kind] of VECTORS)
  test(`dra_manager_state, vector ${name}`, () => {
    const text = JSON.stringify({ Data, Checksum });
    const decoded = decodeClaims(text);
    assert.equal(decoded.kind, "read");
    if (decoded.kind !== "read") return;
    const listed = (JSON.parse(Data) as { ClaimInfoStateList: unknown[] | null })
      .ClaimInfoStateList;
    assert.equal(decoded.claims.length, listed?.length ?? 0);
    if (kind === "alike") assert.equal(encodeClaims(decoded.claims), text);
    // Whatever was read, what is written of it reads the same.
    assert.deepEqual(decodeClaims(encodeClaims(decoded.claims)), decoded);
  });

for (const [name, text] of [
  ["10: another checksum", JSON.stringify({ Data: dataOf([X]), Checksum: 1 })],
  ["no JSON", "{"],
  ["no text within", JSON.stringify({ Data: {}, Checksum: 0 })],
] as const)
  test(`dra_manager_state, ${name}: corrupted`, () => {
    assert.deepEqual(decodeClaims(text), { kind: "broken", why: "checkpoint is corrupted" });
  });
