/** A node in a box with what the suites take for granted: containerd of today, a registry, and an init system's commands. */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Box, BoxProcess } from "../../../test/box/box.ts";
import { startBox } from "../../../test/box/box.ts";
import {
  accepts,
  besideContainerd,
  containerdConfig,
  containerdPrograms,
} from "../../../test/box/containerd.ts";
import { PAUSE_IMAGE } from "../../../test/box/images.ts";
import { runcProgram } from "../../../test/box/runc.ts";
import { CACHE_DIR } from "../../debian-suite.mjs";
import { readIndex } from "../images/store.ts";
import { SUITE_PAUSE_IMAGE } from "../images/suite-images.ts";

const HERE = import.meta.dirname;
const CHECKOUT = resolve(HERE, "../../..");
const REGISTRY_PORT = 5555;
/** Cgroup of containerd. */
export const RUNTIME_GROUP = "/containerd";
const STAND_INS = ["systemctl", "systemd-run", "journalctl", "sudo"];
const START_TIMEOUT_MS = 30_000;
/** Digest that the suite compares the busybox of a certain name with; ours is another build of it. */
const BUSYBOX_DIGEST = "sha256:a9155b13325b2abef48e71de77bb8ac015412a566829f621d06bfae5c699b1b9";
const BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.37.0-2";
/** The default of Kubernetes' own jobs, and what cgroup v1 asks for. */
const KUBELET_CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
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
/** Other nodes would see what a test leaves in /tmp; folders in it that are named are still there. */
const OWN_TMP = `set -e
mkdir /run/kept
for folder in "$@"; do
  mkdir -p "/run/kept$folder" && mount --bind "$folder" "/run/kept$folder"
done
mount -t tmpfs -o mode=1777 lab-tmp /tmp
for folder in "$@"; do
  mkdir -p "$folder" && mount --bind "/run/kept$folder" "$folder"
  umount "/run/kept$folder"
done
rm -r /run/kept`;
/** A neighbour on the node's wire, that answers pings, so that its interface has traffic to count. */
const NEIGHBOUR = `set -e
ip netns add wire
ip link set eth0-wire netns wire
ip -n wire address add 198.51.100.1/24 dev eth0-wire
ip -n wire link set lo up
ip -n wire link set eth0-wire up
busybox ping -q -A -c 1500 -s 1400 198.51.100.1 >/dev/null`;
/** containerd in a cgroup of its own, as a service is, so that its usage can be reported. */
const OWN_GROUP = `for group in memory cpu cpuacct pids; do
  [ -d /sys/fs/cgroup/$group ] || continue
  mkdir -p /sys/fs/cgroup/$group$0 && echo $$ >/sys/fs/cgroup/$group$0/cgroup.procs
done
exec "$@"`;

/** What a lab is made from. */
export interface LabParts {
  /** Store of the images. */
  readonly store: string;
  /** Programs of the suites and the Go kubelet by name. */
  readonly program: (name: string) => string;
  /** The kubelet under test. */
  readonly kubelet: string;
}

/** A running lab; its box is removed with it. */
export class Lab implements AsyncDisposable {
  readonly box: Box;
  /** Folder with the suite's program and the kubelet beside it; the same inside and outside. */
  readonly folder: string;

  constructor(box: Box) {
    this.box = box;
    this.folder = join(box.folder, "suite");
  }

  get kubeletConfig(): string {
    return join(this.folder, "kubelet-base.yaml");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }
}

/** Makes a lab and waits until its containerd serves. */
export async function startLab(parts: LabParts): Promise<Lab> {
  const box = await startBox({ containerd: "none", storeMib: 0, hostname: "lab" });
  const lab = new Lab(box);
  try {
    const kept = [box.folder, CHECKOUT, CACHE_DIR].filter((path) => path.startsWith("/tmp/"));
    await box.run(["sh", "-c", OWN_TMP, "sh", ...kept]);
    await box.run(["sh", "-c", NEIGHBOUR]);
    await installStandIns(box);
    installSuite(lab, parts);
    await startRegistry(box, parts.store);
    await startRuntime(box);
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

/** The suite's program with the digest of our busybox, and the kubelet beside it. */
function installSuite(lab: Lab, { store, program, kubelet }: LabParts): void {
  mkdirSync(lab.folder);
  const suite = readFileSync(program("e2e_node.test"));
  const digest = readIndex(store)[BUSYBOX] ?? "";
  for (let at = suite.indexOf(BUSYBOX_DIGEST); at >= 0; at = suite.indexOf(BUSYBOX_DIGEST, at))
    suite.write(digest, at, "latin1");
  writeFileSync(join(lab.folder, "e2e_node.test"), suite, { mode: 0o755 });
  symlinkSync(kubelet, join(lab.folder, "kubelet"));
  for (const name of ["gcp-credential-provider", "mounter"])
    symlinkSync("e2e_node.test", join(lab.folder, name));
  copyFileSync(program("ginkgo"), join(lab.folder, "ginkgo"));
  writeFileSync(lab.kubeletConfig, KUBELET_CONFIG);
}

async function startRegistry(box: Box, store: string): Promise<void> {
  const argv = [process.execPath, join(HERE, "registry.ts"), store, `${REGISTRY_PORT}`];
  const running = box.spawnLogged("registry", argv);
  const log = join(box.folder, "registry.log");
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (!running.running) throw new Error("the registry ended");
    await sleep(50);
  }
  const folder = "/etc/containerd/certs.d/_default";
  await box.run(["mkdir", "-p", folder]);
  const address = `http://127.0.0.1:${REGISTRY_PORT}`;
  const hosts = `server = "${address}"\n[host."${address}"]\ncapabilities = ["pull", "resolve"]\n`;
  box.write(`${folder}/hosts.toml`, hosts);
}

/** The runtime class that the suites take for granted. */
function testHandler(runc: string): string {
  const table = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.test-handler';
  return `[${table}]\nruntime_type = "io.containerd.runc.v2"\n[${table}.options]\nBinaryName = "${runc}"\n`;
}

async function startRuntime(box: Box): Promise<BoxProcess> {
  const { cniPlugins } = besideContainerd("2.4");
  const { cgroupDriver } = box;
  const runc = runcProgram("1.5");
  const config = containerdConfig({ runc, cniPlugins, cgroupDriver }, testHandler(runc));
  box.write("/etc/containerd/config.toml", config.replace(PAUSE_IMAGE, SUITE_PAUSE_IMAGE));
  const { daemon, folder } = containerdPrograms("2.4");
  const PATH = `${folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  const running = box.spawnLogged("containerd", ["sh", "-c", OWN_GROUP, RUNTIME_GROUP, daemon], {
    env: { PATH },
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await accepts(box.criSocket))) {
    if (!running.running) throw new Error("containerd ended");
    if (performance.now() > deadline) throw new Error("containerd does not serve");
    await sleep(50);
  }
  return running;
}
