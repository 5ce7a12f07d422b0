/** A machine of a lab: a box with a /tmp of its own, containerd of today and a registry on its loopback. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, type BoxOptions, startBox } from "../../../test/box/box.ts";
import {
  accepts,
  besideContainerd,
  containerdConfig,
  containerdPrograms,
} from "../../../test/box/containerd.ts";
import { PAUSE_IMAGE } from "../../../test/box/images.ts";
import { runcProgram } from "../../../test/box/runc.ts";
import { CACHE_DIR } from "../../debian-suite.mjs";
import { SUITE_PAUSE_IMAGE } from "../images/suite-images.ts";
import type { LabParts } from "./suite-lab.ts";

const HERE = import.meta.dirname;
const CHECKOUT = resolve(HERE, "../../..");
const REGISTRY_PORT = 5555;
/** Cgroup of containerd. */
export const RUNTIME_GROUP = "/containerd";
const START_TIMEOUT_MS = 30_000;
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
/** containerd in a cgroup of its own, as a service is, so that its usage can be reported; started again when it ends. */
const OWN_GROUP = `for group in memory cpu cpuacct pids; do
  [ -d /sys/fs/cgroup/$group ] || continue
  mkdir -p /sys/fs/cgroup/$group$0 && echo $$ >/sys/fs/cgroup/$group$0/cgroup.procs
done
[ ! -e /sys/fs/cgroup/cgroup.controllers ] || {
  mkdir -p /sys/fs/cgroup$0 && echo $$ >/sys/fs/cgroup$0/cgroup.procs
}
while :; do "$@"; sleep 1; done`;

/**
 * Makes a machine, on the disk of the one it runs on by default; waits until its containerd serves and its registry has
 * the images of the stores.
 */
export async function startMachine(
  { stores, runc = "1.5" }: Pick<LabParts, "stores" | "runc">,
  options: BoxOptions,
): Promise<Box> {
  const box = await startBox({ storeMib: 0, ...options, containerd: "none" });
  try {
    const kept = [box.folder, CHECKOUT, CACHE_DIR].filter((path) => path.startsWith("/tmp/"));
    await box.run(["sh", "-c", OWN_TMP, "sh", ...kept]);
    await startRegistry(box, stores);
    await startRuntime(box, runcProgram(runc));
    return box;
  } catch (error) {
    const logs = box.logs();
    await box.dispose();
    throw new Error(`the machine did not start\n${logs}`, { cause: error });
  }
}

async function startRegistry(box: Box, stores: readonly string[]): Promise<void> {
  const argv = [process.execPath, join(HERE, "registry.ts"), `${REGISTRY_PORT}`, ...stores];
  const running = box.spawnLogged("registry", argv);
  const log = join(box.folder, "registry.log");
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (!running.running) throw new Error("the registry ended");
    await sleep(50);
  }
  await useRegistry(box, "_default", `http://127.0.0.1:${REGISTRY_PORT}`);
  // One that a spec starts in a pod.
  await useRegistry(box, "localhost:5000", "http://localhost:5000");
}

/** Has containerd ask `address` for the images of a host. */
async function useRegistry(box: Box, host: string, address: string): Promise<void> {
  const folder = `/etc/containerd/certs.d/${host}`;
  await box.run(["mkdir", "-p", folder]);
  const hosts = `server = "${address}"\n[host."${address}"]\ncapabilities = ["pull", "resolve"]\n`;
  box.write(`${folder}/hosts.toml`, hosts);
}

/** The runtime class that the suites take for granted. */
function testHandler(runc: string): string {
  const table = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.test-handler';
  return `[${table}]\nruntime_type = "io.containerd.runc.v2"\n[${table}.options]\nBinaryName = "${runc}"\n`;
}

async function startRuntime(box: Box, runc: string): Promise<void> {
  const { cniPlugins } = besideContainerd("2.4");
  const { cgroupDriver } = box;
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
}
