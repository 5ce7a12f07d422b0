/** A file server of the kernel (nfsd) beside a box: on a wire of its own, which can be cut. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE_DIR } from "../../../tools/debian-suite.mjs";
import type { Box } from "../../box/box.ts";
import { TIMEOUT_FACTOR } from "../../support/timeout-factor.ts";

/** Debian's packages of server and client, with what they stand on. */
export const NFS_PACKAGES = {
  suite: "bookworm",
  programs: ["nfs-common", "nfs-kernel-server"],
  libraries: ["libtirpc3", "libnfsidmap1", "libevent-core-2.1-7", "libkeyutils1", "libwrap0"],
} as const;

/** Where the server is. */
export const SERVER = "192.0.2.2";
/** The node's end of that wire: nothing listens there. */
export const DEAF = "192.0.2.1";

const SHARE = "/var/lib/share";
const READY_MS = 20_000;

/** Shell, in the box: a wire to a namespace of its own, in which process $1 keeps it. */
const WIRE = `set -e
ip link add files type veth peer name files-wire
ip link set files-wire netns "$1"
ip address add ${DEAF}/24 dev files
ip link set files up`;

/** Shell, in that namespace. Nobody has to reclaim anything when it begins, so it waits for that as briefly as it can. */
const SERVE = `set -e
ip link set lo up
ip address add ${SERVER}/24 dev files-wire
ip link set files-wire up
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs
for file in etab rmtab; do : >/var/lib/nfs/$file; done
exportfs -i -o rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0 '*:${SHARE}'
rpc.mountd -N 2 -N 3
rpc.nfsd -N 3 -G 10 -L 10 2`;

/**
 * Shell, on the machine, for boxes made after it: programs where mount(8) expects those of a kind, and their libraries.
 */
export function installNfs(): string {
  const folder = (name: string) => join(CACHE_DIR, "packages", NFS_PACKAGES.suite, name);
  const programs = NFS_PACKAGES.programs.flatMap((name) => [
    `${folder(name)}/sbin`,
    `${folder(name)}/usr/sbin`,
  ]);
  const libraries = NFS_PACKAGES.libraries.flatMap((name) => [
    `${folder(name)}/lib/x86_64-linux-gnu`,
    `${folder(name)}/usr/lib/x86_64-linux-gnu`,
  ]);
  return [
    `mount -t overlay -o lowerdir=${[...programs, "/usr/sbin"].join(":")} overlay /usr/sbin`,
    `printf '%s\\n' ${libraries.join(" ")} >/etc/ld.so.conf.d/00-nfs.conf`,
    "ldconfig",
  ].join("\n");
}

/** The server; its share is kept in memory. It goes with the box. */
export class FileServer {
  readonly #box: Box;

  private constructor(box: Box) {
    this.#box = box;
  }

  /** Resolves when it serves. */
  static async start(box: Box): Promise<FileServer> {
    await box.run(["mkdir", "-p", SHARE]);
    await box.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=777", "share", SHARE]);
    const holder = await box.run([
      "sh",
      "-c",
      "unshare --net --mount sleep infinity </dev/null >/dev/null 2>&1 & echo $!",
    ]);
    const pid = holder.trim();
    const own = (await box.run(["readlink", "/proc/self/ns/net"])).trim();
    const deadline = performance.now() + READY_MS * TIMEOUT_FACTOR;
    while ((await box.run(["readlink", `/proc/${pid}/ns/net`])).trim() === own) {
      if (performance.now() > deadline) throw new Error("the server has no namespace");
      await sleep(50);
    }
    await box.run(["sh", "-c", WIRE, "wire", pid]);
    await box.run(["nsenter", `--target=${pid}`, "--net", "--mount", "sh", "-c", SERVE]);
    return new FileServer(box);
  }

  /** Cuts the wire, or mends it: nothing is said to either end. */
  async reachable(is: boolean): Promise<void> {
    await this.#box.run(["ip", "link", "set", "files", is ? "up" : "down"]);
  }

  /** Runs a shell script in the share, as the server has it. */
  async script(text: string): Promise<string> {
    return await this.#box.run(["sh", "-c", text], { cwd: SHARE });
  }
}
