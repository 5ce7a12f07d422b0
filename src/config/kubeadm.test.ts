// The files that kubeadm writes on a node, read as its unit hands them to the kubelet.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FakeFiles } from "../../test/sim/fake-files.ts";
import { SimClock } from "../../test/sim/sim-clock.ts";
import { deriveRuntimeEndpoint } from "./derive.ts";
import { loadConfig } from "./load.ts";

const FOLDER = join(import.meta.dirname, "testdata/kubeadm");
const CONFIG = "/var/lib/kubelet/config.yaml";
/** KUBELET_KUBECONFIG_ARGS and KUBELET_CONFIG_ARGS of `10-kubeadm.conf`. */
const UNIT_ARGS = [
  "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
  "--kubeconfig=/etc/kubernetes/kubelet.conf",
  `--config=${CONFIG}`,
];

/** The words of KUBELET_KUBEADM_ARGS, as systemd splits the variable of an unquoted `$NAME`. */
function wordsOf(env: string): readonly string[] {
  const [, words = ""] = /^KUBELET_KUBEADM_ARGS="(.*)"$/m.exec(env) ?? [];
  return words.split(/\s+/).filter((word) => word !== "");
}

for (const [version, endpoint, driver] of [
  ["1.20", "unix:///run/containerd/containerd.sock", "cgroupfs"],
  ["1.29", "unix:///run/containerd/containerd.sock", "systemd"],
  ["1.36", "unix:///run/containerd/containerd.sock", "systemd"],
] as const)
  test(`loadConfig: the files of kubeadm ${version} as they are`, async () => {
    const read = (name: string) => readFileSync(join(FOLDER, version, name), "utf8");
    const clock = new SimClock();
    const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
    await files.makeDirectory("/var/lib/kubelet", 0o755);
    await files.writeAtomic(CONFIG, read("config.yaml"), 0o644);
    const argv = [...UNIT_ARGS, ...wordsOf(read("kubeadm-flags.env"))];
    const { config, flags, problems } = await loadConfig(argv, files, { cwd: "/" });
    assert.deepEqual(problems, []);
    assert.equal(flags.kubeconfig, "/etc/kubernetes/kubelet.conf");
    assert.equal(flags.bootstrapKubeconfig, "/etc/kubernetes/bootstrap-kubelet.conf");
    assert.equal(config.staticPodPath, "/etc/kubernetes/manifests");
    assert.equal(config.rotateCertificates, true);
    assert.deepEqual(config.clusterDNS, ["10.96.0.10"]);
    assert.equal(config.authentication.x509.clientCAFile, "/etc/kubernetes/pki/ca.crt");
    assert.equal(deriveRuntimeEndpoint(config), endpoint);
    assert.equal(config.cgroupDriver, driver);
    // A duration of zero stands for the default.
    assert.equal(config.nodeStatusUpdateFrequency, 10_000);
    assert.equal(config.shutdownGracePeriod, 0);
    if (version !== "1.36") return;
    assert.equal(flags.nodeIP, "192.0.2.10");
    assert.deepEqual(config.registerWithTaints, [
      { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
    ]);
  });
