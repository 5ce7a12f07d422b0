// A machine with another kernel: Debian's, with cgroups of version 2, in QEMU without hardware
// support, on the files of this machine (read-only, with writable ones of its own above):
//   node tools/guest/guest.mjs 'uname -r; ls /sys/fs/cgroup'
// What is slow to get (kernel, initramfs) is kept in the cache outside the checkout.
import { execFileSync, spawn } from "node:child_process";
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
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE_DIR, fetchPackages, suiteEnvironment, withSuites } from "../debian-suite.mjs";

const SUITE = "bookworm";
export const QEMU = "/usr/bin/qemu-system-x86_64";
const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox"];
const INIT = join(import.meta.dirname, "init.sh");

/** Modules for files of the machine, layers of containers and the network of pods. */
const MODULES = [
  ...["virtio", "virtio_ring", "virtio_pci", "virtio_pci_modern_dev", "virtio_pci_legacy_dev"],
  ...["netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "overlay"],
  ...["veth", "llc", "stp", "bridge", "ipv6"],
  ...["libcrc32c", "crc32c_generic", "nfnetlink", "nf_tables", "nf_defrag_ipv4", "nf_defrag_ipv6"],
  ...["nf_conntrack", "nf_nat", "x_tables", "nft_compat", "nft_chain_nat", "nft_counter"],
  ...[
    "xt_comment",
    "xt_MASQUERADE",
    "xt_addrtype",
    "xt_mark",
    "xt_nat",
    "xt_tcpudp",
    "xt_multiport",
  ],
  ...["xt_conntrack"],
];

/**
 * Features of the CPU that cost more than they bring where every instruction is emulated: `rep movsb` copies byte by byte
 * (erms), protection keys empty the translations of all addresses whenever V8 writes code (pku), each copy from or to a
 * program changes the mode of memory access (smap), pages are found in five steps instead of four (la57).
 */
const COSTLY = ["erms", "pku", "smap", "smep", "umip", "la57"];

/** The emulated CPU. */
const CPU = ["-cpu", ["max", ...COSTLY.map((name) => `-${name}`)].join(",")];

/** For the kernel: nobody attacks it, and the host's counter is a good clock. */
export const KERNEL_ARGUMENTS =
  "console=ttyS0 quiet panic=-1 psi=1 mitigations=off tsc=reliable nowatchdog audit=0";

/**
 * One thread for both CPUs: with two, what a JIT compiler writes on one is run too early on the other, and Node ends with
 * SIGSEGV in one start of ten.
 */
const EMULATION = ["-accel", "tcg,thread=single", ...CPU, "-smp", "2"];

/** A machine with one CPU, which does not wait for another one that has its turn later. */
export const EMULATION_OF_ONE = ["-accel", "tcg,thread=single", ...CPU, "-smp", "1"];

/** An initramfs that runs a command on the files of this machine. */
const HOST_FILES = { init: INIT, modules: MODULES };

/** An initramfs that boots the system on the first disk. */
export const FIRST_DISK = {
  init: join(import.meta.dirname, "disk-init.sh"),
  modules: [
    ...["virtio", "virtio_ring", "virtio_pci", "virtio_pci_modern_dev", "virtio_pci_legacy_dev"],
    ...["virtio_blk", "crc16", "crc32c_generic", "libcrc32c", "mbcache", "jbd2", "ext4"],
  ],
};

/** Why no guest can be run here, in words for a skipped test; undefined when one can. */
export function guestObstacle() {
  if (process.platform !== "linux" || process.arch !== "x64") return "needs Linux on x86-64";
  if (!existsSync(QEMU)) return "needs qemu-system-x86_64 (package qemu-system-x86)";
  if (!BUSYBOX.some((path) => existsSync(path))) return "needs busybox (package busybox-static)";
  if (process.getuid() !== 0) return "needs root";
  return undefined;
}

/**
 * Paths of kernel, its modules and initramfs, fetched and built where the cache has none. `boot` is what the initramfs
 * consists of: this machine's files by default.
 */
export function guestParts({ say = () => {}, boot = HOST_FILES } = {}) {
  const folder = kernelPackage(say);
  const images = join(folder, "boot");
  const kernel = readdirSync(images).find((name) => name.startsWith("vmlinuz-"));
  if (!kernel) throw new Error(`no kernel in ${images}`);
  return {
    kernel: join(images, kernel),
    modules: join(folder, "lib/modules"),
    initramfs: initramfs(folder, boot, say),
  };
}

/** The kernel's package as it was fetched before; undefined when it was not. */
export function knownKernel() {
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
  const init = readFileSync(boot.init);
  const digest = createHash("sha256")
    .update(JSON.stringify([basename(packageFolder), boot.modules]))
    .update(init)
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
  writeFileSync(join(root, "init"), init, { mode: 0o755 });
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

/**
 * Runs a shell command in a guest of its own as root and gives what it wrote and its code; `code` is
 * undefined when the guest did not come to its end. `onLine` receives every line as it comes.
 */
export async function runInGuest(command, options = {}) {
  const { timeoutMs = 300_000, memoryMib = 2048, onLine = () => {}, say } = options;
  const { kernel, initramfs: initrd } = guestParts({ say });
  const encoded = Buffer.from(command).toString("base64");
  const checkout = Buffer.from(resolve(import.meta.dirname, "../..")).toString("base64");
  const child = spawn(
    QEMU,
    [
      ...EMULATION,
      ...["-m", `${memoryMib}`],
      ...["-kernel", kernel, "-initrd", initrd, "-nographic", "-no-reboot", "-nodefaults"],
      ...["-serial", "stdio", "-monitor", "none", "-net", "none"],
      ...["-append", `${KERNEL_ARGUMENTS} guest.checkout=${checkout} guest.command=${encoded}`],
      "-virtfs",
      "local,path=/,mount_tag=host,security_model=passthrough,readonly=on,multidevs=remap",
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  let output = "";
  let rest = "";
  const keep = (chunk) => {
    const lines = (rest + chunk.toString().replaceAll("\r", "")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      output += `${line}\n`;
      onLine(line);
    }
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  await new Promise((resolve, reject) => {
    child.once("close", resolve);
    child.once("error", reject);
  });
  clearTimeout(timer);
  const code = /^guest: ended with (\d+)$/m.exec(output)?.[1];
  return { code: code === undefined ? undefined : Number(code), output };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const obstacle = guestObstacle();
  if (obstacle) {
    console.error(`guest: ${obstacle}`);
    process.exitCode = 1;
  } else {
    const say = (text) => process.stderr.write(`guest: ${text}\n`);
    const { code } = await runInGuest(process.argv.slice(2).join(" "), {
      onLine: console.log,
      say,
    });
    process.exitCode = code ?? 1;
  }
}
