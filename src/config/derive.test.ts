import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DEFAULT_EVICTION_HARD,
  deriveCgroupRoot,
  deriveEvictionHard,
  deriveImageEndpoint,
  deriveMaxPods,
  deriveNodeIps,
  deriveNodeName,
  deriveReservations,
  deriveRootLayout,
  deriveRuntimeEndpoint,
  socketPathOf,
} from "./derive.ts";
import { DEFAULT_CONFIG } from "./fields/defaults.ts";
import { validateNodeAddresses } from "./flags/validate-flags.ts";
import { formatConfigProblem } from "./problem.ts";

const NAMES: readonly (readonly [hostname: string, override: string, name: string])[] = [
  ["node-1", "", "node-1"],
  ["Node-1", "", "node-1"],
  [" node-1\n", "", "node-1"],
  ["node-1.example.com", "", "node-1.example.com"],
  ["node-1", "other", "other"],
  ["node-1", "  OTHER ", "other"],
  ["", "other", "other"],
];

test("the node's name is the host name or its override, trimmed and in lower case", () => {
  for (const [hostname, override, name] of NAMES) {
    assert.deepEqual(deriveNodeName(hostname, override), { ok: true, name });
  }
});

test("a name that is none is refused", () => {
  const reported = (hostname: string, override: string) => {
    const reading = deriveNodeName(hostname, override);
    return reading.ok ? "" : formatConfigProblem(reading.problem);
  };
  assert.match(reported("", ""), /--hostname-override: Required value: empty hostname is invalid/);
  assert.match(reported("node", "   "), /empty hostname is invalid/);
  assert.match(reported("my_host", ""), /Invalid value: "my_host".*set --hostname-override/);
  assert.match(reported("node", "a b"), /Invalid value: "a b"/);
  assert.match(reported("x".repeat(300), ""), /RFC 1123/);
});

test("the layout below the root is the kubelet's", () => {
  const layout = deriveRootLayout("/var/lib/kubelet", "/var/log/pods");
  assert.equal(layout.pods, "/var/lib/kubelet/pods");
  assert.equal(layout.pluginsRegistry, "/var/lib/kubelet/plugins_registry");
  assert.equal(layout.podResources.socket, "/var/lib/kubelet/pod-resources/kubelet.sock");
  assert.equal(layout.podsApi.socket, "/var/lib/kubelet/pods-api/pods-api.sock");
  assert.equal(layout.checkpoints, "/var/lib/kubelet/checkpoints");
  assert.equal(layout.imageManager.pulled, "/var/lib/kubelet/image_manager/pulled");
  assert.equal(layout.state.allocatedPods, "/var/lib/kubelet/allocated_pods_state");
  assert.equal(layout.containerLogs, "/var/log/containers");
  assert.equal(deriveRootLayout("/", "/l").pods, "/pods");
});

test("device plugins stay where they are, whatever the root", () => {
  const { devicePlugins } = deriveRootLayout("/data", "/l");
  assert.deepEqual(devicePlugins, {
    directory: "/var/lib/kubelet/device-plugins",
    socket: "/var/lib/kubelet/device-plugins/kubelet.sock",
    checkpoint: "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
  });
});

test("hard thresholds: the configured ones, or merged with the defaults; 0% and 100% are off", () => {
  const evictionHard = {
    "memory.available": "1Gi",
    "nodefs.available": "0%",
    "pid.available": "5%",
  };
  assert.deepEqual(deriveEvictionHard(DEFAULT_CONFIG), DEFAULT_EVICTION_HARD);
  assert.deepEqual(deriveEvictionHard({ ...DEFAULT_CONFIG, evictionHard }), {
    "memory.available": "1Gi",
    "pid.available": "5%",
  });
  const merged = { ...DEFAULT_CONFIG, evictionHard, mergeDefaultEvictionSettings: true };
  assert.deepEqual(deriveEvictionHard(merged), {
    "memory.available": "1Gi",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "pid.available": "5%",
  });
  const off = { ...DEFAULT_CONFIG, evictionHard: { "memory.available": "100%" } };
  assert.deepEqual(deriveEvictionHard(off), {});
  // The Go kubelet compares texts: this one is always met.
  const always = { ...DEFAULT_CONFIG, evictionHard: { "memory.available": "100.0%" } };
  assert.deepEqual(deriveEvictionHard(always), always.evictionHard);
});

test("endpoints, cgroup and pod count follow from related fields", () => {
  const config = { ...DEFAULT_CONFIG, imageServiceEndpoint: "unix:///i.sock" };
  assert.equal(deriveImageEndpoint(config), "unix:///i.sock");
  assert.equal(deriveImageEndpoint(DEFAULT_CONFIG), "unix:///run/containerd/containerd.sock");
  const path = { ...DEFAULT_CONFIG, containerRuntimeEndpoint: "/run/c.sock" };
  assert.equal(deriveRuntimeEndpoint(path), "unix:///run/c.sock");
  assert.equal(deriveImageEndpoint(path), "unix:///run/c.sock");
  assert.equal(socketPathOf("unix:///run/x.sock"), "/run/x.sock");
  assert.equal(socketPathOf("unix:/run/x.sock"), "/run/x.sock");
  assert.equal(socketPathOf("/run/x.sock"), "/run/x.sock");
  assert.equal(deriveCgroupRoot(DEFAULT_CONFIG), "/");
  assert.equal(deriveCgroupRoot({ ...DEFAULT_CONFIG, cgroupRoot: "/x" }), "/x");
  assert.equal(deriveCgroupRoot({ ...DEFAULT_CONFIG, cgroupsPerQOS: false }), "");
  assert.equal(deriveMaxPods(DEFAULT_CONFIG, 2), 110);
  assert.equal(deriveMaxPods({ ...DEFAULT_CONFIG, podsPerCore: 10 }, 2), 20);
  assert.equal(deriveMaxPods({ ...DEFAULT_CONFIG, podsPerCore: 100 }, 2), 110);
});

/** Values of `--node-ip`, the derived addresses, and the problem on a machine with one address of each family. */
const NODE_IPS: readonly (readonly [string, readonly string[], RegExp | undefined])[] = [
  ["198.51.100.10", ["198.51.100.10"], undefined],
  ["198.51.100.10, 2001:DB8:0:0::10", ["198.51.100.10", "2001:db8::10"], undefined],
  ["0:0::0", ["::"], undefined],
  ["0.0.0.0", ["0.0.0.0"], undefined],
  ["203.0.113.9", ["203.0.113.9"], /"203.0.113.9" not found in the host's network interfaces/],
  [
    "2001:db8::11",
    ["2001:db8::11"],
    /not found in .* \(the machine has 198.51.100.10, 2001:db8::10\)/,
  ],
  ["127.0.0.1", ["127.0.0.1"], /nodeIP can't be loopback address/],
  ["::1", ["::1"], /loopback/],
  ["224.0.0.1", ["224.0.0.1"], /multicast/],
  ["169.254.1.1", ["169.254.1.1"], /link-local/],
  ["fe80::1", ["fe80::1"], /link-local/],
];

test("the node's addresses are its own (CVE-2022-3294)", () => {
  const found = ["198.51.100.10", "2001:db8::10"];
  for (const [flag, addresses, fault] of NODE_IPS) {
    const derived = deriveNodeIps(flag) ?? [];
    assert.deepEqual(derived, addresses, flag);
    const [problem] = validateNodeAddresses(derived, found).map(formatConfigProblem);
    if (fault) assert.match(problem ?? "", fault);
    else assert.equal(problem, undefined, flag);
  }
});

/** CPU of systemReserved, of kubeReserved and reserved by number; what counts for the first two. */
const RESERVED_CPU: readonly (readonly [
  system: string,
  kube: string,
  cpus: string,
  counted: readonly [string | undefined, string | undefined],
])[] = [
  ["100.4m", "100.5m", "", ["100m", "101m"]],
  ["100400u", "100500u", "", ["100m", "101m"]],
  ["1", "0.0005", "", ["1000m", "1m"]],
  ["0.4m", "499999n", "", ["0m", "1m"]],
  ["100m", "100500u", "0-2", ["3", undefined]],
];

test("reserved cpu counts in whole millicores, rounded half up", () => {
  for (const [system, kube, reservedSystemCPUs, counted] of RESERVED_CPU) {
    const { systemReserved, kubeReserved } = deriveReservations({
      systemReserved: { cpu: system, memory: "1Gi" },
      kubeReserved: { cpu: kube },
      reservedSystemCPUs,
    });
    assert.deepEqual([systemReserved["cpu"], kubeReserved["cpu"]], counted, `${system} ${kube}`);
    assert.equal(systemReserved["memory"], "1Gi");
  }
});
