// What an emulated machine boots with: Debian's kernel and an initramfs that hands over to the system on a disk, in QEMU
// without hardware support. What is slow to get is kept in the cache outside the checkout.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { CACHE_DIR, fetchPackages, suiteEnvironment, withSuites } from "../debian-suite.mjs";

const SUITE = "bookworm";
export const QEMU = "/usr/bin/qemu-system-x86_64";
const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox"];

/**
 * Features of the CPU that cost more than they bring where every instruction is emulated: `rep movsb` copies byte by byte
 * (erms), protection keys empty the translations of all addresses whenever V8 writes code (pku), each copy from or to a
 * program changes the mode of memory access (smap), pages are found in five steps instead of four (la57).
 */
const COSTLY = ["erms", "pku", "smap", "smep", "umip", "la57"];

/** The emulated CPU. */
export const CPU = ["-cpu", ["max", ...COSTLY.map((name) => `-${name}`)].join(",")];

/** For the kernel: nobody attacks it, and the host's counter is a good clock. */
export const KERNEL_ARGUMENTS =
  "console=ttyS0 quiet panic=-1 psi=1 mitigations=off tsc=reliable nowatchdog audit=0";

/** One CPU: a second one would have its turn in the same thread. */
export const EMULATION = ["-accel", "tcg,thread=single", ...CPU, "-smp", "1"];

/** What both read first. */
const PREPARE = join(import.meta.dirname, "prepare.sh");

/** What an initramfs boots: the system on the first disk, or a command on the files of this machine. */
const FIRST_DISK = {
  init: join(import.meta.dirname, "disk-init.sh"),
  modules: [
    ...["virtio", "virtio_ring", "virtio_pci", "virtio_pci_modern_dev", "virtio_pci_legacy_dev"],
    ...["virtio_blk", "crc16", "crc32c_generic", "libcrc32c", "mbcache", "jbd2", "ext4"],
  ],
};
const HOST_FILES = {
  init: join(import.meta.dirname, "host-init.sh"),
  modules: [
    ...["virtio", "virtio_ring", "virtio_pci", "virtio_pci_modern_dev", "virtio_pci_legacy_dev"],
    ...["netfs", "fscache", "9p", "9pnet", "9pnet_virtio", "overlay", "loop", "dummy"],
    ...["crc16", "crc32c_generic", "libcrc32c", "mbcache", "jbd2", "ext4"],
    ...["veth", "stp", "llc", "bridge"],
    ...["sunrpc", "grace", "lockd", "nfs_acl", "auth_rpcgss", "dns_resolver"],
    ...["nfs", "nfsv4", "nfsd"],
  ],
};
const BOOTS = { disk: FIRST_DISK, host: HOST_FILES };

/** Why no guest can be run here, in words for a skipped test; undefined when one can. */
export function guestObstacle() {
  if (process.platform !== "linux" || process.arch !== "x64") return "needs Linux on x86-64";
  if (!existsSync(QEMU)) return "needs qemu-system-x86_64 (package qemu-system-x86)";
  if (!BUSYBOX.some((path) => existsSync(path))) return "needs busybox (package busybox-static)";
  if (process.getuid() !== 0) return "needs root";
  return undefined;
}

/**
 * Paths of kernel, its modules and initramfs, fetched and built where the cache has none.
 */
export function guestParts({ say = () => {}, boot = "disk" } = {}) {
  const folder = kernelPackage(say);
  const images = join(folder, "boot");
  const kernel = readdirSync(images).find((name) => name.startsWith("vmlinuz-"));
  if (!kernel) throw new Error(`no kernel in ${images}`);
  return {
    kernel: join(images, kernel),
    modules: join(folder, "lib/modules"),
    initramfs: initramfs(folder, BOOTS[boot], say),
  };
}

/** The kernel's package as it was fetched before; undefined when it was not. */
function knownKernel() {
  const cached = join(CACHE_DIR, "packages", SUITE);
  if (!existsSync(cached)) return undefined;
  const known = readdirSync(cached).filter((name) => /^linux-image-[\d.]+-\d+-amd64$/.test(name));
  return known.length > 0 ? join(cached, known.sort().at(-1)) : undefined;
}

function kernelPackage(say) {
  const known = knownKernel();
  if (known) return known;
  say("reading the package lists for the kernel's name");
  const text = withSuites(() => {
    const env = suiteEnvironment(SUITE);
    execFileSync("apt-get", ["update", "-qq"], { env, stdio: ["ignore", "ignore", "inherit"] });
    return execFileSync("apt-cache", ["depends", "linux-image-amd64"], { env, encoding: "utf8" });
  });
  const name = /Depends: (linux-image-\S+)/.exec(text)?.[1];
  if (!name) throw new Error("Debian's linux-image-amd64 names no kernel");
  return fetchPackages(SUITE, [name], { say })[0];
}

/** A small root with busybox, modules and our init, kept under the digest of what it is made from. */
function initramfs(packageFolder, boot, say) {
  const scripts = [
    { path: "init", text: readFileSync(boot.init) },
    { path: "prepare.sh", text: readFileSync(PREPARE) },
  ];
  const digest = createHash("sha256")
    .update(JSON.stringify([basename(packageFolder), boot.modules]))
    .update(scripts.map(({ text }) => text).join(""))
    .digest("hex")
    .slice(0, 16);
  const folder = join(CACHE_DIR, "guest");
  const file = join(folder, `${digest}.cpio`);
  if (existsSync(file)) return file;
  say("building the initramfs");
  const root = join(folder, `${digest}.${process.pid}`);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(join(root, "modules"));
  cpSync(
    BUSYBOX.find((path) => existsSync(path)),
    join(root, "bin/busybox"),
  );
  for (const { path, text } of scripts) writeFileSync(join(root, path), text, { mode: 0o755 });
  const found = readdirSync(join(packageFolder, "lib/modules"), { recursive: true });
  for (const name of boot.modules) {
    const path = found.find((one) => basename(one) === `${name}.ko`);
    if (path) cpSync(join(packageFolder, "lib/modules", path), join(root, "modules", `${name}.ko`));
  }
  const script = `cd "$1" && find . | busybox cpio -o -H newc >"$2" 2>/dev/null`;
  execFileSync("sh", ["-c", script, "sh", root, `${root}.cpio`]);
  renameSync(`${root}.cpio`, file);
  rmSync(root, { recursive: true });
  return file;
}
