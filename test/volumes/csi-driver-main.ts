// A CSI driver as a process of its own: node csi-driver-main.ts NAME FOLDER REGISTRY [NAME IT REGISTERS]
// Volumes are memory, or with the attribute `disk` an ext4 file system or a block device over a file in FOLDER. Each call
// is a line of JSON in FOLDER/calls, and FOLDER/faults (JSON: call to fault) says how calls are to fail. What is staged and
// published is read from the kernel, so that it survives the process.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { setTimeout } from "node:timers/promises";
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { type DriverDisk, type DriverFault, TestCsiDriver } from "../support/csi-driver.ts";

const [name = "", folder = "", registry = "", registeredName] = process.argv.slice(2);
const DISK_BYTES = 32 * 1024 * 1024;

const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, args, { encoding: "utf8" });

const mountsAt = (path: string): number =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4] === path).length;

/** Takes away what is mounted at the path; a second mount on top of the first is a fault of the agent. */
function unmount(path: string): void {
  const mounts = mountsAt(path);
  if (mounts > 1) appendFileSync(`${folder}/violations`, `${mounts} mounts at ${path}\n`);
  for (let left = mounts; left > 0; left -= 1) run("umount", path);
}

/** A handle may be any text, also one that leads out of the folder. */
const fileOf = (id: string, kind: "disk" | "staged"): string =>
  `${folder}/${encodeURIComponent(id)}.${kind}`;

/** The loop device over the volume's file, made when missing. */
function deviceOf(id: string): string {
  const file = fileOf(id, "disk");
  if (!existsSync(file)) {
    const fd = openSync(file, "wx", 0o600);
    ftruncateSync(fd, DISK_BYTES);
    closeSync(fd);
  }
  const known = run("losetup", "-j", file).split(":")[0]?.trim();
  return known || run("losetup", "-f", "--show", file).trim();
}

function releaseDevice(id: string): void {
  const known = run("losetup", "-j", fileOf(id, "disk")).split(":")[0]?.trim();
  if (known) run("losetup", "-d", known);
}

/** The volume that was last staged at the path; kept on the disk, since the driver may be killed in between. */
function stagedAt(path: string): string | undefined {
  const found = readdirSync(folder)
    .filter((file) => file.endsWith(".staged"))
    .find((file) => readFileSync(`${folder}/${file}`, "utf8") === path);
  return found && decodeURIComponent(found.slice(0, -".staged".length));
}

const disk: DriverDisk = {
  stage: async ({ volumeId, stagingTargetPath: path, volumeContext, volumeCapability }) => {
    writeFileSync(fileOf(volumeId, "staged"), path);
    if (volumeCapability?.accessType?.$case === "block") {
      deviceOf(volumeId);
      return;
    }
    if (mountsAt(path) > 0) return;
    if (volumeContext["disk"] !== "ext4") {
      run("mount", "-t", "tmpfs", volumeId, path);
      return;
    }
    const device = deviceOf(volumeId);
    try {
      run("blkid", device);
    } catch {
      run("mkfs.ext4", "-q", device);
    }
    run("mount", device, path);
  },
  unstage: async (path) => {
    unmount(path);
    const id = stagedAt(path);
    if (id !== undefined && existsSync(fileOf(id, "disk"))) releaseDevice(id);
  },
  publish: async ({ volumeId, targetPath, stagingTargetPath, volumeCapability, readonly }) => {
    if (mountsAt(targetPath) > 0) return;
    if (volumeCapability?.accessType?.$case === "block") {
      writeFileSync(targetPath, "");
      run("mount", "--bind", deviceOf(volumeId), targetPath);
      return;
    }
    mkdirSync(targetPath, { recursive: true });
    if (stagingTargetPath === "") run("mount", "-t", "tmpfs", volumeId, targetPath);
    else run("mount", "--bind", stagingTargetPath, targetPath);
    if (readonly) run("mount", "-o", "remount,bind,ro", targetPath);
  },
  unpublish: async (path) => {
    unmount(path);
    if (!existsSync(path)) return;
    if (statSync(path).isDirectory()) rmdirSync(path);
    else unlinkSync(path);
  },
};

/** How long a call takes before its work and after it, in FOLDER/slow (JSON: call to milliseconds). */
const slowness = (call: string): number =>
  existsSync(`${folder}/slow`)
    ? (JSON.parse(readFileSync(`${folder}/slow`, "utf8"))[call] ?? 0)
    : 0;

/** Makes the work of a call slow. */
const slowly =
  <Given extends readonly unknown[]>(call: string, act: (...given: Given) => Promise<void>) =>
  async (...given: Given): Promise<void> => {
    await setTimeout(slowness(call));
    await act(...given);
    await setTimeout(slowness(call));
  };

const faults = (): Record<string, DriverFault> =>
  existsSync(`${folder}/faults`) ? JSON.parse(readFileSync(`${folder}/faults`, "utf8")) : {};

const driver = new TestCsiDriver(
  {
    stage: slowly("St", disk.stage),
    unstage: slowly("Us", disk.unstage),
    publish: slowly("Pb", disk.publish),
    unpublish: slowly("Up", disk.unpublish),
  },
  {
    name,
    socketPath: `${folder}/csi.sock`,
    nodeId: "node-of-the-driver",
    maxVolumes: 7,
    topology: { "topology.nodelet.test/zone": "z1" },
    forgetful: true,
    ...(registeredName === undefined ? {} : { registeredName }),
    fault: (call) => faults()[call],
    onCall: (call, volume) => {
      if (call !== "C") appendFileSync(`${folder}/calls`, `${JSON.stringify({ call, volume })}\n`);
    },
  },
);
mkdirSync(folder, { recursive: true });
rmSync(`${folder}/csi.sock`, { force: true });
const grpc = connectGrpc();
await driver.listen(grpc);
await driver.register(grpc, registry);
