import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../../present/cli-error.ts";
import { kubeadmConfig } from "./kubeadm-config.ts";
import type { ClusterChoices } from "./settings.ts";
import { kubeadmSettings } from "./settings.ts";

const NO_OPTIONS: ClusterChoices = {
  kubernetesVersion: undefined,
  podCidr: undefined,
  serviceCidr: undefined,
  apiAddress: undefined,
  imageRepository: undefined,
  controlPlaneEndpoint: undefined,
  kubeadmConfig: undefined,
};
const MACHINE = {
  nodeName: "one",
  runtime: { kind: "own", socket: "/run/c.sock" },
  cgroupVersion: 2,
  swapOn: false,
  resolvConf: undefined,
  freePodNetwork: () => "10.85.0.0/16",
  kubernetesVersion: "v1.37.2",
} as const;

test("kubeadmConfig: a machine without options gets what follows from it", () => {
  assert.equal(
    kubeadmConfig("init", kubeadmSettings(NO_OPTIONS, MACHINE), undefined),
    `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  criSocket: unix:///run/c.sock
  name: one
  taints: []
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.37.2
networking:
  podSubnet: 10.85.0.0/16
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
`,
  );
});

test("kubeadmConfig: options and an old machine show in their fields", () => {
  const options = {
    ...NO_OPTIONS,
    kubernetesVersion: "v1.36.3",
    podCidr: "10.1.0.0/16",
    serviceCidr: "10.2.0.0/16",
    apiAddress: "192.0.2.7",
    imageRepository: "registry.example/k8s",
  };
  const machine = {
    ...MACHINE,
    runtime: { kind: "found", socket: "/run/c.sock" },
    cgroupVersion: 1,
    swapOn: true,
    resolvConf: "/run/systemd/resolve/resolv.conf",
  } as const;
  const text = kubeadmConfig("init", kubeadmSettings(options, machine), undefined);
  for (const line of [
    "kubernetesVersion: v1.36.3",
    "  podSubnet: 10.1.0.0/16",
    "  serviceSubnet: 10.2.0.0/16",
    "  advertiseAddress: 192.0.2.7",
    "imageRepository: registry.example/k8s",
    "failCgroupV1: false",
    "failSwapOn: false",
    "resolvConf: /run/systemd/resolve/resolv.conf",
  ])
    assert.ok(text.split("\n").includes(line), `${line}\n${text}`);
  assert.doesNotMatch(text, /cgroupDriver/, "another's containerd says which driver it has");
});

const merge = (text: string, options: Partial<ClusterChoices> = {}) =>
  kubeadmConfig("init", kubeadmSettings({ ...NO_OPTIONS, ...options }, MACHINE), {
    path: "k.yaml",
    text,
  });
const CLUSTER = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";
const INIT = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n";

test("kubeadmConfig: the user's file keeps its fields, and wins over defaults", () => {
  const text = merge(
    `${CLUSTER}networking: {podSubnet: 10.9.0.0/16, dnsDomain: a.example}
etcd: {local: {dataDir: /data/etcd}}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
`,
  );
  assert.match(text, /podSubnet: 10\.9\.0\.0\/16/);
  assert.match(text, /dnsDomain: a\.example/);
  assert.match(text, /dataDir: \/data\/etcd/);
  assert.match(text, /kind: KubeProxyConfiguration\nmode: nftables/);
  assert.match(text, /kubernetesVersion: v1\.37\.2/);
});

for (const [what, text, options, message] of [
  [
    "an option that the file contradicts",
    `${CLUSTER}networking: {podSubnet: 10.9.0.0/16}`,
    { podCidr: "10.1.0.0/16" },
    'k.yaml: ClusterConfiguration.networking.podSubnet is "10.9.0.0/16", but --pod-cidr asks for "10.1.0.0/16"',
  ],
  [
    "another runtime than the machine's",
    `${INIT}nodeRegistration: {criSocket: unix:///other.sock}`,
    {},
    'k.yaml: InitConfiguration.nodeRegistration.criSocket is "unix:///other.sock", but the container runtime of this machine asks for "unix:///run/c.sock"',
  ],
  [
    "an older version of the format",
    "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\n",
    {},
    'k.yaml: line 1: apiVersion of InitConfiguration is "kubeadm.k8s.io/v1beta3"',
  ],
  [
    "a kind for another command",
    "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n",
    {},
    'k.yaml: line 1: kind "JoinConfiguration" is not for this command',
  ],
  ["two of a kind", `${INIT}---\n${INIT}`, {}, "k.yaml: line 4: a second InitConfiguration"],
  ["a list", "- a\n", {}, "k.yaml: line 1 is no document with fields"],
] as const)
  test(`kubeadmConfig: refuses ${what}`, () => {
    assert.throws(
      () => merge(text, options),
      (error) => error instanceof CliError && error.message === message && error.fix !== undefined,
    );
  });

test("kubeadmConfig: refuses what is no YAML, with the line", () =>
  assert.throws(() => merge("a: [\n"), /^CliError: k\.yaml: /));
