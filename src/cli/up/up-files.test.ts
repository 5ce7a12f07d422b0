// The files that `up` writes: that they say what they should, and that their readers take them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGolden } from "../../../test/cli/golden.ts";
import { assembleConfig } from "../../config/assemble.ts";
import { parseFlags } from "../../config/flags/flags.ts";
import { validateOnHost } from "../../config/validation/validate.ts";
import { kubeletConfigFile } from "./kubelet-config-file.ts";
import { DEFAULT_PLACES, socketObstacle, upPaths } from "./paths.ts";
import { containerdConfig } from "./runtime/containerd-config.ts";
import { ociRuntimes } from "./runtime/oci-runtimes.ts";
import {
  BRIDGE,
  choosePodNetwork,
  overlaps,
  podNetworkConfig,
  subnetOf,
} from "./runtime/pod-network.ts";

const PATHS = upPaths(DEFAULT_PLACES);
const RUNC = {
  name: "runc",
  type: "io.containerd.runc.v2",
  path: "/usr/sbin/runc",
  programs: ["/usr/sbin/runc"],
};
const HANDLERS = { runtimes: [RUNC], chosen: "runc" };
const PLAIN = {
  sandboxImage: "i",
  handlers: HANDLERS,
  cniPlugins: "/c",
  snapshotter: "native",
  mayLowerOomScore: false,
} as const;

test("`containerdConfig` for the usual machine", () => {
  const text = containerdConfig(PATHS.containerd, {
    sandboxImage: "localhost/nodelet/pause:1",
    handlers: HANDLERS,
    cniPlugins: "/usr/lib/cni",
    snapshotter: "overlayfs",
    mayLowerOomScore: true,
  });
  assertGolden("containerd.toml", text);
});

test("`containerdConfig` leaves out the restart monitor of every containerd (CVE-2026-53488)", () => {
  const text = containerdConfig(PATHS.containerd, PLAIN);
  const [, disabled = ""] = /^disabled_plugins = (\[.*\])$/m.exec(text) ?? [];
  const names = JSON.parse(disabled) as readonly string[];
  // To 1.7, and from 2.0.
  for (const type of ["io.containerd.internal.v1", "io.containerd.monitor.container.v1"])
    assert.ok(names.includes(`${type}.restart`), disabled);
});

test("`containerdConfig` restricts oom scores only where it must", () => {
  const text = containerdConfig(PATHS.containerd, PLAIN);
  assert.match(text, /^restrict_oom_score_adj = true$/m);
  assert.match(text, /^oom_score = 0$/m);
  assert.match(text, /^snapshotter = "native"$/m);
});

test("`containerdConfig` has a section for each handler, with a program where the shim takes one", () => {
  const find = (program: string) => (program === "youki" ? undefined : `/opt/bin/${program}`);
  const runtimes = ociRuntimes(find);
  const text = containerdConfig(PATHS.containerd, {
    ...PLAIN,
    handlers: { runtimes, chosen: "crun" },
  });
  assert.match(text, /^default_runtime_name = "crun"$/m);
  const sections = [...text.matchAll(/^\[.*\.runtimes\.(\S+)\]\n(\w+ = .*)$/gm)];
  assert.deepEqual(
    sections.map(([, name, line]) => [name, line]),
    [
      ["crun", 'runtime_type = "io.containerd.runc.v2"'],
      ["crun.options", 'BinaryName = "/opt/bin/crun"'],
      ["runc", 'runtime_type = "io.containerd.runc.v2"'],
      ["runc.options", 'BinaryName = "/opt/bin/runc"'],
      ["runsc", 'runtime_type = "io.containerd.runsc.v1"'],
      ["kata", 'runtime_type = "io.containerd.kata.v2"'],
    ],
  );
});

test("`containerdConfig` quotes what paths may hold", () => {
  const paths = upPaths({ ...DEFAULT_PLACES, stateDir: '/odd "place"\\n' });
  const text = containerdConfig(paths.containerd, {
    sandboxImage: "i",
    handlers: HANDLERS,
    cniPlugins: "/c",
    snapshotter: "overlayfs",
    mayLowerOomScore: true,
  });
  assert.ok(text.includes('root = "/odd \\"place\\"\\\\n/containerd"'));
});

for (const cgroupVersion of [1, 2] as const)
  for (const swapOn of [true, false])
    test(`\`kubeletConfigFile\` can be used on cgroups v${cgroupVersion} with swap ${swapOn ? "on" : "off"}`, () => {
      const text = kubeletConfigFile({
        manifests: PATHS.manifests,
        runtimeSocket: PATHS.containerd.socket,
        clientCaFile: `${PATHS.api}/pki/ca.crt`,
        certDir: `${PATHS.agentRoot}/pki`,
        cgroupVersion,
        swapOn,
        resolvConf: "/run/systemd/resolve/resolv.conf",
      });
      const flags = parseFlags([`--config=${PATHS.config}`]);
      const base = { path: PATHS.config, text };
      const { config, problems, warnings } = assembleConfig({ flags, base, dropIns: [], cwd: "/" });
      assert.deepEqual([...problems, ...warnings], []);
      assert.deepEqual(validateOnHost(config, { cgroupVersion, swapBytes: swapOn ? 1 : 0 }), []);
      assert.equal(config.staticPodPath, PATHS.manifests);
      assert.equal(config.containerRuntimeEndpoint, `unix://${PATHS.containerd.socket}`);
      assert.equal(config.enableServer, false);
      assert.equal(config.failSwapOn, !swapOn);
      assert.equal(config.failCgroupV1, cgroupVersion === 2);
    });

test("`podNetworkConfig` keeps its addresses in our folder and names the plugins there are", () => {
  const text = podNetworkConfig(PATHS.containerd, {
    subnet: "10.85.0.0/16",
    bridge: BRIDGE,
    plugins: new Set(["bridge", "firewall"]),
  });
  assertGolden("pod-network.conflist", text);
  assert.equal(subnetOf(text), "10.85.0.0/16");
  const without = podNetworkConfig(PATHS.containerd, {
    subnet: "10.85.0.0/16",
    bridge: BRIDGE,
    plugins: new Set(),
  });
  assert.ok(!without.includes("firewall"));
});

test("`overlaps` recognizes networks that share an address", () => {
  const vectors: readonly (readonly [string, string, boolean])[] = [
    ["10.85.0.0/16", "10.85.3.4", true],
    ["10.85.0.0/16", "10.0.0.0/8", true],
    ["10.85.0.0/16", "10.86.0.0/16", false],
    ["10.85.0.0/16", "0.0.0.0/0", true],
    ["192.168.1.128/25", "192.168.1.0/25", false],
    ["255.255.255.255", "128.0.0.0/1", true],
    ["10.85.0.0/16", "fe80::/64", false],
    ["10.85.0.0/16", "10.85.0.0/33", false],
    ["10.85.0.0/16", "300.1.1.1", false],
  ];
  for (const [a, b, expected] of vectors) {
    assert.equal(overlaps(a, b), expected, `${a} ${b}`);
    assert.equal(overlaps(b, a), expected, `${b} ${a}`);
  }
});

test("`choosePodNetwork` takes the first that is free", () => {
  assert.equal(choosePodNetwork([]), "10.85.0.0/16");
  assert.equal(choosePodNetwork(["10.85.1.0/24"]), "10.117.0.0/16");
  assert.equal(choosePodNetwork(["10.0.0.0/8"]), "172.29.0.0/16");
  assert.equal(choosePodNetwork(["0.0.0.0/0"]), undefined);
});

test("`socketObstacle` knows how long a socket's path may be", () => {
  assert.equal(socketObstacle(PATHS), undefined);
  const long = upPaths({ ...DEFAULT_PLACES, runDir: `/${"x".repeat(100)}` });
  assert.match(socketObstacle(long) ?? "", /longer than the 107 bytes/);
});
