import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { deviceRequests } from "./requests.ts";

const limits = (amounts: Readonly<Record<string, string>>) => ({ resources: { limits: amounts } });

const POD: Pod = {
  spec: {
    initContainers: [
      { name: "prep", ...limits({ "v.com/a": "2", cpu: "1", "hugepages-2Mi": "4Mi" }) },
      { name: "side", restartPolicy: "Always", ...limits({ "v.com/b": "1" }) },
    ],
    containers: [
      { name: "app", ...limits({ "v.com/b": "3", "v.com/a": "1", "kubernetes.io/x": "1" }) },
      { name: "none", ...limits({ "v.com/a": "0" }) },
      { name: "asks", resources: { requests: { "v.com/a": "1" } } },
    ],
  },
};

test("deviceRequests: limits of extended resources only, init containers first, resources by name", () => {
  assert.deepEqual(deviceRequests(POD), [
    { container: "prep", kind: "init", order: 0, resources: [{ resource: "v.com/a", amount: 2 }] },
    {
      container: "side",
      kind: "sidecar",
      order: 1,
      resources: [{ resource: "v.com/b", amount: 1 }],
    },
    {
      container: "app",
      kind: "regular",
      order: 2,
      resources: [
        { resource: "v.com/a", amount: 1 },
        { resource: "v.com/b", amount: 3 },
      ],
    },
  ]);
});

test("deviceRequests leaves out what a resource claim stands behind", () => {
  const requestMappings = [{ containerName: "prep", resourceName: "v.com/a", requestName: "r" }];
  const claimed: Pod = {
    ...POD,
    status: { extendedResourceClaimStatus: { resourceClaimName: "c", requestMappings } },
  };
  assert.deepEqual(
    deviceRequests(claimed).map(({ container }) => container),
    ["side", "app"],
  );
});
