import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ClaimInfo, PreparedDevice } from "./claim-info.ts";
import { ClaimsNotReady, cdiDevicesOf } from "./container-claims.ts";

const device = (id: string, ...requests: readonly string[]): PreparedDevice => ({
  pool: "p",
  device: `d${id}`,
  shareId: undefined,
  requests,
  cdiIds: [`v/x=${id}`],
});

const POD: IdentifiedPod = {
  metadata: { name: "p", namespace: "ns", uid: "u" as PodUid },
  spec: {
    resourceClaims: [
      { name: "c", resourceClaimName: "obj" },
      { name: "none", resourceClaimTemplateName: "t" },
      { name: "late", resourceClaimTemplateName: "t" },
      { name: "made", resourceClaimTemplateName: "t" },
    ],
    containers: [],
  },
  status: {
    resourceClaimStatuses: [{ name: "none" }, { name: "made", resourceClaimName: "obj" }],
    extendedResourceClaimStatus: {
      resourceClaimName: "obj",
      requestMappings: [{ containerName: "ext", resourceName: "v.com/r", requestName: "a" }],
    },
  },
};

const INFO: ClaimInfo = {
  namespace: "ns",
  name: "obj",
  uid: "o",
  pods: new Set(["u" as PodUid]),
  drivers: new Map([
    ["one", [device("1", "a"), device("2", "b")]],
    ["two", [device("3")]],
  ]),
  isPrepared: true,
};

type Claim = readonly [name: string, request?: string];

function idsOf(claims: readonly Claim[], name = "c", requests = {}, info = INFO): string {
  const resources = {
    claims: claims.map(([claim, request]) => ({ name: claim, ...(request ? { request } : {}) })),
    requests,
  };
  const ids = cdiDevicesOf(POD, { name, resources }, new Map([["ns/obj", info]]));
  return ids.map((id) => id.replace("v/x=", "")).join(" ");
}

for (const [vector, claims, ids] of [
  ["18: the whole claim", [["c"]], "1 2 3"],
  ["19: one request", [["c", "a"]], "1 3"],
  [
    "20: two requests, each device once",
    [
      ["c", "a"],
      ["c", "b"],
    ],
    "1 3 2",
  ],
  ["21: a request that no device is for", [["c", "zz"]], "3"],
  ["22: none of its pod's claims", [], ""],
  ["23: none is needed", [["none"]], ""],
  ["one from a template", [["made", "b"]], "2 3"],
] as readonly (readonly [string, readonly Claim[], string])[])
  test(`cdiDevicesOf, vector ${vector}`, () => assert.equal(idsOf(claims), ids));

test("cdiDevicesOf, vector 24: extended resources by their mapping", () => {
  assert.equal(idsOf([], "ext", { "v.com/r": "1" }), "1 3");
  assert.equal(idsOf([], "ext", { "v.com/r": "0" }), "");
  assert.equal(idsOf([], "ext", {}), "");
  assert.equal(idsOf([], "other", { "v.com/r": "1" }), "");
});

test("cdiDevicesOf: a driver that names a choice of the request stands for the request", () => {
  const drivers = new Map([["one", [device("1", "a/large"), device("2", "ab")]]]);
  assert.equal(idsOf([["c", "a"]], "c", {}, { ...INFO, drivers }), "1");
});

test("cdiDevicesOf: a claim that is not held for the pod gives nothing to its containers", () => {
  const message = "internal error: unable to get claim info for ResourceClaim obj in namespace ns";
  const pods = new Set(["another" as PodUid]);
  assert.throws(() => idsOf([["c"]], "c", {}, { ...INFO, pods }), { message });
  assert.throws(() => idsOf([["late"]]), {
    message: 'pod "ns/p": ResourceClaim not created yet',
  });
  assert.throws(() => idsOf([["late"]]), ClaimsNotReady);
});
