// A machine with cgroups of version 2, systemd and a newer runtime, which runs as a program of this one:
//   node tools/guest/uml/machine.mjs 'uname -r; systemctl is-system-running'
// The checkout and the cache of the tests are there at the paths that they have here, everything else is its own.
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE_DIR } from "../../debian-suite.mjs";
import { guestEnd } from "../guest-end.mjs";
import { umlKernel, umlObstacle } from "./kernel.mjs";
import { rootImage, rootObstacle } from "./root.mjs";

const CHECKOUT = resolve(import.meta.dirname, "../../..");

/** Where the machine's memory is kept: a file system that writes nothing to a disk. */
const SHARED_MEMORY = "/dev/shm";

/** Each page of a guest's program may be a mapping of its own; the usual 65,530 are 256 MiB. */
const MAPPINGS = 1_048_576;
const MAPPINGS_LIMIT = "/proc/sys/vm/max_map_count";

/**
 * A program in the guest that has no mapping left for a page waits for that page forever, or finds another one there. The
 * limit is of the whole machine, and stays raised until it is started again.
 */
function allowMappings(say) {
  const limit = Number(readFileSync(MAPPINGS_LIMIT, "utf8"));
  if (limit >= MAPPINGS) return;
  say?.(`raising vm.max_map_count to ${MAPPINGS}, which large programs in a guest need`);
  try {
    writeFileSync(MAPPINGS_LIMIT, String(MAPPINGS));
  } catch (error) {
    const remedy = `programs of more than ${(limit * 4) >> 10} MiB may hang; run sysctl -w vm.max_map_count=${MAPPINGS}`;
    say?.(`failed to raise vm.max_map_count (${error.code}): ${remedy}`);
  }
}

/** Why no such machine can be started here; undefined when one can. */
export const machineObstacle = () => umlObstacle() ?? rootObstacle();

/**
 * Runs a shell command as root in a machine of its own; resolves with what it wrote and its code, which is undefined when
 * the machine did not come to its end. `onLine` receives every line as it comes; `folders` are seen at their own paths;
 * `swapMib` is its swap in MiB, none by default; with `tmpOnDisk` its /tmp is on its disk; `signal` ends the machine.
 */
export async function runInMachine(command, options = {}) {
  const {
    timeoutMs = 600_000,
    memoryMib = 4096,
    cpus = 2,
    swapMib = 0,
    tmpOnDisk = false,
    folders = [],
    onLine = () => {},
    say,
    signal,
  } = options;
  const kernel = umlKernel({ say });
  const disk = rootImage({ say });
  allowMappings(say);
  const work = mkdtempSync(join(tmpdir(), "nodelet-guest-"));
  const memory = mkdtempSync(
    join(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : work, "nodelet-guest-"),
  );
  writeFileSync(join(work, "command"), command);
  const shared = [...new Set([CACHE_DIR, CHECKOUT, ...folders, work])].join("\n");
  const swap = join(work, "swap");
  if (swapMib > 0) {
    writeFileSync(swap, "");
    truncateSync(swap, swapMib * 1024 ** 2);
  }
  const argv = [
    ...[`mem=${memoryMib}M`, `ubd0=${join(work, "disk")},${disk}`, "root=/dev/ubda", "rw"],
    ...(swapMib > 0 ? [`ubd1=${swap}`] : []),
    ...(tmpOnDisk ? ["systemd.mask=tmp.mount"] : []),
    ...["con=null", "con0=null,fd:1", "ssl=null", "quiet", "panic=-1", "psi=1"],
    ...["systemd.show_status=0", "TERM=dumb", `seccomp=on`, `ncpus=${cpus}`],
    `guest.folders=${Buffer.from(shared).toString("base64")}`,
  ];
  const child = spawn(kernel, argv, {
    cwd: work,
    detached: true,
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", TMPDIR: memory, HOME: work },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  signal?.addEventListener("abort", end, { once: true });
  try {
    if (signal?.aborted) end();
    return await guestEnd(child, { onLine, timeoutMs, end });
  } finally {
    signal?.removeEventListener("abort", end);
    for (const folder of [work, memory]) rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const obstacle = machineObstacle();
  if (obstacle) {
    console.error(`guest: ${obstacle}`);
    process.exitCode = 1;
  } else {
    const say = (text) => process.stderr.write(`guest: ${text}\n`);
    const command = process.argv.slice(2).join(" ");
    const { code } = await runInMachine(command, {
      onLine: console.log,
      say,
      timeoutMs: 3_600_000,
    });
    process.exitCode = code ?? 1;
  }
}
