/** A node in a box with what the node suite takes for granted: the machine of a lab, and an init system's commands. */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Box } from "../../../test/box/box.ts";
import { LOGIND_READY, logindObstacle } from "../../../test/systemd/machine-logind.ts";
import { readIndex } from "../images/store.ts";
import { RUNTIME_GROUP, startMachine } from "./machine.ts";
import type { LabParts, SuiteFlags, SuiteLab } from "./suite-lab.ts";

const HERE = import.meta.dirname;
const LOGIND = resolve(HERE, "../../../test/systemd/run-logind.ts");
const STAND_INS = ["systemctl", "systemd-run", "journalctl", "sudo"];
/** Digest that the suite compares the busybox of a certain name with; ours is another build of it. */
const BUSYBOX_DIGEST = "sha256:a9155b13325b2abef48e71de77bb8ac015412a566829f621d06bfae5c699b1b9";
const BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.37.0-2";
/** The default of Kubernetes' own jobs, and what cgroup v1 and swap ask for. */
const KUBELET_CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
failSwapOn: false
systemCgroups: /system
clusterDomain: cluster.local
podCIDR: 10.100.0.0/24
volumeStatsAggPeriod: 10s
fileCheckFrequency: 10s
evictionPressureTransitionPeriod: 30s
evictionHard:
  memory.available: 250Mi
  nodefs.available: 10%
  nodefs.inodesFree: 5%
evictionMinimumReclaim:
  nodefs.available: 5%
  nodefs.inodesFree: 5%
serializeImagePulls: false
`;
/** A neighbour on the node's wire, that answers pings, so that its interface has traffic to count. */
const NEIGHBOUR = `set -e
ip netns add wire
ip link set eth0-wire netns wire
ip -n wire address add 198.51.100.1/24 dev eth0-wire
ip -n wire link set lo up
ip -n wire link set eth0-wire up
busybox ping -q -A -c 1500 -s 1400 198.51.100.1 >/dev/null`;

/** A node alone in its box. */
export class Lab implements SuiteLab {
  readonly box: Box;
  /** With the suite's program the kubelet, which the suite starts from there. */
  readonly folder: string;
  readonly suite = "e2e_node.test";

  constructor(box: Box) {
    this.box = box;
    this.folder = join(box.folder, "suite");
  }

  get kubeletConfig(): string {
    return join(this.folder, "kubelet-base.yaml");
  }

  suiteArguments(
    reports: string,
    { suiteFlags = [], kubeletFlags = [], pullsLater = false }: SuiteFlags,
  ): readonly string[] {
    return [
      `--report-dir=${reports}`,
      `--prepull-images=${!pullsLater}`,
      `--kubelet-config-file=${this.kubeletConfig}`,
      "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
      `--kubelet-flags=${[`--runtime-cgroups=${RUNTIME_GROUP}`, ...kubeletFlags].join(" ")}`,
      "--dns-domain=cluster.local",
      "--server-start-timeout=3m",
      ...suiteFlags,
    ];
  }

  /** The suite writes the kubelet's log itself. */
  logs() {
    const names = ["box.log", "containerd.log", "registry.log", "logind.log"];
    return names.map((name) => [name, join(this.box.folder, name)] as const);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }
}

/** Makes a lab for the node suite and waits until its containerd, and logind if it is to have it, serves. */
export async function startLab(
  parts: LabParts,
  {
    logind = false,
    diskMib = 0,
  }: { readonly logind?: boolean | undefined; readonly diskMib?: number | undefined } = {},
): Promise<Lab> {
  const disk = { storeMib: diskMib, storeIn: "file" } as const;
  const box = await startMachine(parts, { hostname: "lab", ...disk });
  const lab = new Lab(box);
  try {
    await box.run(["sh", "-c", NEIGHBOUR]);
    await installStandIns(box);
    if (logind) await startLogind(box);
    installSuite(lab, parts);
    return lab;
  } catch (error) {
    const logs = box.logs();
    await box.dispose();
    throw new Error(`the lab did not start\n${logs}`, { cause: error });
  }
}

async function installStandIns(box: Box): Promise<void> {
  const source = join(HERE, "stand-ins/systemctl");
  for (const name of STAND_INS) {
    box.write(`/usr/local/bin/${name}`, readFileSync(source));
    await box.run(["chmod", "755", `/usr/local/bin/${name}`]);
  }
}

async function startLogind(box: Box): Promise<void> {
  const obstacle = logindObstacle();
  if (obstacle !== false) throw new Error(`there is no systemd-logind for this node: ${obstacle}`);
  const running = box.spawnLogged("logind", [process.execPath, LOGIND]);
  while ((await box.exec(["test", "-e", LOGIND_READY])).code !== 0) {
    if (!running.running) throw new Error("systemd-logind ended");
    await sleep(100);
  }
}

/** The suite's program with the digest of our busybox, and the kubelet beside it. */
function installSuite(lab: Lab, { stores, program, kubelet }: LabParts): void {
  mkdirSync(lab.folder);
  const suite = readFileSync(program("e2e_node.test"));
  const digest = readIndex(stores)[BUSYBOX] ?? "";
  for (let at = suite.indexOf(BUSYBOX_DIGEST); at >= 0; at = suite.indexOf(BUSYBOX_DIGEST, at))
    suite.write(digest, at, "latin1");
  writeFileSync(join(lab.folder, "e2e_node.test"), suite, { mode: 0o755 });
  symlinkSync(kubelet, join(lab.folder, "kubelet"));
  for (const name of ["gcp-credential-provider", "mounter"])
    symlinkSync("e2e_node.test", join(lab.folder, name));
  copyFileSync(program("ginkgo"), join(lab.folder, "ginkgo"));
  writeFileSync(lab.kubeletConfig, KUBELET_CONFIG);
}
