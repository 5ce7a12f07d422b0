// An emulated machine with two NUMA nodes, each a socket of two cores with two threads, and this machine's files:
//   node tools/guest/numa.mjs 'cat /sys/devices/system/node/node*/cpulist'
// The checkout and the cache of the tests are there at the paths that they have here; what is written is gone with the machine.
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE_DIR } from "../debian-suite.mjs";
import { CPU, guestObstacle, guestParts, KERNEL_ARGUMENTS, QEMU } from "./guest.mjs";
import { guestEnd } from "./guest-end.mjs";

const CHECKOUT = resolve(import.meta.dirname, "../..");
const NODES = [
  { id: 0, cpus: "0-3" },
  { id: 1, cpus: "4-7" },
];
const NODE_MIB = 2048;

/**
 * Threads of the host for its CPUs: with one for all of them, a CPU that waits for the others waits for its turn. What a JIT
 * compiler writes on one may be run too early on another then, so Node runs on one CPU only.
 */
const EMULATION = [
  ...["-accel", "tcg,thread=multi", CPU[0], `${CPU[1]},vendor=GenuineIntel`],
  ...["-smp", "8,sockets=2,cores=2,threads=2"],
];

/** Arguments of the machine's memory: so much for each node, both as far from each other as two sockets are. */
const memory = () => [
  ...["-m", `${NODES.length * NODE_MIB}`],
  ...NODES.flatMap(({ id, cpus }) => [
    ...["-object", `memory-backend-ram,id=ram${id},size=${NODE_MIB}M`],
    ...["-numa", `node,nodeid=${id},cpus=${cpus},memdev=ram${id}`],
  ]),
  ...["-numa", "dist,src=0,dst=1,val=21"],
];

/**
 * Runs a shell command as root in such a machine, on its first CPU; resolves with what it wrote and its code, which is
 * undefined when the machine did not come to its end. `onLine` receives every line as it comes.
 */
export async function runOnNuma(command, { timeoutMs = 900_000, onLine = () => {}, say } = {}) {
  const { kernel, initramfs } = guestParts({ say, boot: "host" });
  const encode = (text) => Buffer.from(text).toString("base64");
  const pinned = `taskset -p -c 0 $$ >/dev/null\n${command}`;
  const folders = encode([CHECKOUT, CACHE_DIR].join("\n"));
  const child = spawn(
    QEMU,
    [
      ...EMULATION,
      ...memory(),
      ...["-kernel", kernel, "-initrd", initramfs, "-nographic", "-no-reboot", "-nodefaults"],
      ...["-serial", "stdio", "-monitor", "none", "-net", "none"],
      ...[
        "-append",
        `${KERNEL_ARGUMENTS} guest.folders=${folders} guest.command=${encode(pinned)}`,
      ],
      "-virtfs",
      "local,path=/,mount_tag=host,security_model=passthrough,readonly=on,multidevs=remap",
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  return await guestEnd(child, { onLine, timeoutMs, end: () => child.kill("SIGKILL") });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const obstacle = guestObstacle();
  if (obstacle) {
    console.error(`guest: ${obstacle}`);
    process.exitCode = 1;
  } else {
    const say = (text) => process.stderr.write(`guest: ${text}\n`);
    const { code } = await runOnNuma(process.argv.slice(2).join(" "), { onLine: console.log, say });
    process.exitCode = code ?? 1;
  }
}
