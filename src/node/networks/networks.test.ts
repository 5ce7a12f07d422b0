import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAllocation, parseGivenNetwork, parseRuntimeNetworks } from "./cni-files.ts";
import { type NetworkGround, planForgotten } from "./plan-forgotten.ts";

const [GONE, THERE, OTHER] = ["a", "b", "c"].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
];
const CONFIG = {
  cniVersion: "0.4.0",
  name: "box",
  plugins: [{ type: "bridge" }, { type: "portmap", capabilities: { portMappings: true } }],
};

function cacheEntry(sandboxId: string, infra = sandboxId): string {
  return JSON.stringify({
    kind: "cniCacheV1",
    containerId: sandboxId,
    config: btoa(JSON.stringify(CONFIG)),
    ifName: "eth0",
    networkName: "box",
    cniArgs: [
      ["IgnoreUnknown", "1"],
      ["K8S_POD_INFRA_CONTAINER_ID", infra],
    ],
    capabilityArgs: { portMappings: [] },
    result: {
      cniVersion: "0.4.0",
      interfaces: [
        { name: "veth1" },
        { name: "eth0", sandbox: `/var/run/netns/cni-${sandboxId[0]}` },
      ],
      ips: [{ address: "10.88.0.2/16" }],
    },
  });
}

const given = (sandboxId: string, madeMs: number) => {
  const read = parseGivenNetwork(cacheEntry(sandboxId));
  assert.ok(read);
  return { ...read, file: `/results/${sandboxId}`, madeMs };
};

function ground(more: Partial<NetworkGround> = {}): NetworkGround {
  return {
    given: [],
    allocations: [],
    namespaces: [],
    sandboxes: new Set([THERE]),
    configs: new Map([["box", CONFIG]]),
    beforeMs: 1_000,
    ...more,
  };
}

const namespace = (name: string, madeMs: number, ips: readonly string[] = []) => ({
  path: `/run/netns/${name}`,
  madeMs,
  ips,
  inUse: false,
});

test("planForgotten takes back what a sandbox had that the runtime no longer knows", () => {
  const plan = planForgotten(
    ground({
      given: [given(GONE, 900), given(THERE, 900)],
      namespaces: [namespace("cni-a", 899), namespace("cni-b", 899)],
    }),
  );
  assert.deepEqual(
    plan?.networks.map(({ sandboxId, namespace: path, file }) => [sandboxId, path, file]),
    [[GONE, "/run/netns/cni-a", `/results/${GONE}`]],
  );
  assert.deepEqual(plan?.namespaces, ["/run/netns/cni-a"]);
});

test("planForgotten leaves alone what is young", () => {
  const young = {
    given: [given(GONE, 1_000)],
    allocations: [
      { network: "box", ip: "10.88.0.3", sandboxId: OTHER, interfaceName: "eth0", madeMs: 1_001 },
    ],
    namespaces: [namespace("cni-a", 1_000)],
  };
  assert.equal(planForgotten(ground(young)), undefined);
});

test("planForgotten finds an address without an entry, and the namespace that has it", () => {
  const allocation = { network: "box", sandboxId: OTHER, interfaceName: "eth0", madeMs: 900 };
  const plan = planForgotten(
    ground({
      given: [given(THERE, 900)],
      allocations: [
        { ...allocation, ip: "10.88.0.3" },
        { ...allocation, ip: "10.88.0.2", sandboxId: THERE },
        { ...allocation, ip: "10.99.0.2", network: "of somebody else" },
        { ...allocation, ip: "10.88.0.4" },
      ],
      namespaces: [namespace("cni-b", 800), namespace("cni-x", 800, ["10.88.0.3"])],
    }),
  );
  assert.deepEqual(
    plan?.networks.map(({ sandboxId, namespace: path, result }) => [sandboxId, path, result]),
    [[OTHER, "/run/netns/cni-x", undefined]],
  );
  assert.deepEqual(plan?.namespaces, ["/run/netns/cni-x"]);
});

test("planForgotten leaves alone what processes live in", () => {
  const living = {
    given: [given(GONE, 900)],
    allocations: [
      { network: "box", ip: "10.88.0.3", sandboxId: OTHER, interfaceName: "eth0", madeMs: 900 },
    ],
    namespaces: [
      { ...namespace("cni-a", 800), inUse: true },
      { ...namespace("cni-c", 800, ["10.88.0.3"]), inUse: true },
    ],
  };
  assert.equal(planForgotten(ground(living)), undefined);
});

test("planForgotten gives up a namespace that never had an address", () => {
  const plan = planForgotten(ground({ namespaces: [namespace("cni-x", 800)] }));
  assert.deepEqual(plan, { networks: [], namespaces: ["/run/netns/cni-x"] });
});

test("parseGivenNetwork reads only what was made for a pod's sandbox", () => {
  assert.equal(parseGivenNetwork(cacheEntry(GONE, "another")), undefined);
  assert.equal(parseGivenNetwork("{"), undefined);
  assert.equal(parseGivenNetwork('{"kind":"cniCacheV1"}'), undefined);
  const read = parseGivenNetwork(cacheEntry(GONE));
  assert.equal(read?.args, `IgnoreUnknown=1;K8S_POD_INFRA_CONTAINER_ID=${GONE}`);
  assert.deepEqual(read?.config, CONFIG);
});

test("parseAllocation reads addresses of sandboxes and nothing else", () => {
  assert.deepEqual(parseAllocation("box", "10.88.0.3", `${OTHER}\r\neth0`), {
    network: "box",
    ip: "10.88.0.3",
    sandboxId: OTHER,
    interfaceName: "eth0",
  });
  assert.equal(parseAllocation("box", "last_reserved_ip.0", "10.88.0.3"), undefined);
  assert.equal(parseAllocation("box", "lock", ""), undefined);
  assert.equal(parseAllocation("box", "10.88.0.4", "mine\r\neth0"), undefined);
});

test("parseRuntimeNetworks reads containerd's description", () => {
  const cniconfig = JSON.stringify({
    PluginDirs: ["/opt/cni/bin"],
    Networks: [
      { IFName: "lo", Config: { Source: '{"cniVersion":"0.3.1","name":"lo","type":"loopback"}' } },
      { IFName: "eth0", Config: { Source: JSON.stringify(CONFIG) } },
    ],
  });
  const read = parseRuntimeNetworks({ cniconfig });
  assert.deepEqual(read?.folders, ["/opt/cni/bin"]);
  assert.deepEqual(
    read?.configs.map(({ name, plugins }) => [name, plugins.length]),
    [
      ["lo", 1],
      ["box", 2],
    ],
  );
  assert.equal(parseRuntimeNetworks({}), undefined);
});
