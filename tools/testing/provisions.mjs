// What integration tests need and no package brings ready-made: built or fetched once for a machine, in the background
// beside unit tests and simulation.
//   node tools/testing/provisions.mjs [name…]
//   node tools/testing/provisions.mjs --plan     only says what is missing, and how long it takes
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildPrograms, builtProgram } from "../bench/build-go-kubelet.mjs";
import { guestObstacle, guestParts, knownKernel } from "../guest/guest.mjs";
import { buildControlPlane, hasControlPlane, knownApiServer } from "../kube/build-apiserver.mjs";
import { keepDurations, readDurations, roughly } from "./durations.mjs";
import { ROOT, testFiles } from "./files.mjs";

const SELF = fileURLToPath(import.meta.url);
/** Unit tests run meanwhile and are not to be slowed down. */
const NICENESS = 10;

/**
 * Each with the words by which the source of a test file shows that it needs it, whether it is there, and how to get
 * it, which usually takes so long. In the order in which they are worth having: what is quick first.
 */
const PROVISIONS = {
  kubectl: {
    usually: "a minute",
    needed: /localapi\/kubectl\.ts|"\.\/kubectl\.ts"/,
    isThere: async () => (await kubectl()).PROGRAMS.every((each) => each.isThere()),
    get: async () => {
      for (const each of (await kubectl()).PROGRAMS) each.path();
    },
  },
  "guest kernel": {
    usually: "a minute",
    needed: /guestObstacle/,
    isThere: async () => guestObstacle() !== undefined || knownKernel() !== undefined,
    get: async (say) => guestParts({ say }),
  },
  "Go device plugin": {
    usually: "a minute",
    needed: /pluginProgram\("go"\)/,
    isThere: async () => (await devicePrograms()).hasGoPlugin(),
    get: async (say) => {
      say("compiling the device plugin in Go");
      (await devicePrograms()).pluginProgram("go");
    },
  },
  "control plane": {
    usually: "15 min on two cores",
    needed: /apiServerObstacle|kube\/(apiserver|cluster-node)\.ts/,
    isThere: async () => hasControlPlane(),
    get: async (say) => {
      // Most of the Go kubelet is compiled for the API server anyway.
      if (!knownApiServer()) await buildPrograms(["kube-apiserver", "kubelet"], { say });
      await buildControlPlane({ say });
    },
  },
  "Go kubelet": {
    usually: "10 min on two cores",
    needed: /goKubeletObstacle/,
    isThere: async () => Boolean(process.env.GO_KUBELET) || builtProgram("kubelet") !== undefined,
    get: async (say) => buildPrograms(["kubelet"], { say }),
  },
};

const kubectl = () => import("../../test/localapi/kubectl.ts");
const devicePrograms = () => import("../../test/devices/programs.ts");

export const PROVISION_NAMES = Object.keys(PROVISIONS);

/** Names of what the test file needs, whether the machine has it or not. */
export function neededProvisions(path) {
  const source = readFileSync(join(ROOT, path), "utf8");
  return PROVISION_NAMES.filter((name) => PROVISIONS[name].needed.test(source));
}

/** Names of what the test files need and the machine does not have yet. */
export async function missingProvisions(paths) {
  const needed = new Set(paths.flatMap(neededProvisions));
  const missing = [];
  for (const name of PROVISION_NAMES)
    if (needed.has(name) && !(await PROVISIONS[name].isThere())) missing.push(name);
  return missing;
}

/** What is to be got, each with how long it took here the last time, or may take. */
export function provisionPlan(names, known = readDurations()) {
  const each = names.map((name) => {
    const seconds = known.get(name);
    const time =
      seconds === undefined ? PROVISIONS[name].usually : `${roughly(seconds)} the last time`;
    return `${name} (${time})`;
  });
  return each.join(", ");
}

/**
 * Gets what is named in a process of its own, with a line to `note` for each step. Resolves with the obstacles,
 * none when all is there; ends early when the signal says so.
 */
export function startProvisions(names, note, signal) {
  const child = spawn(process.execPath, [SELF, ...names], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const stop = () => {
    try {
      process.kill(-child.pid, "SIGTERM");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  const obstacles = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith(FAILED)) obstacles.push(line.slice(FAILED.length));
    note(line);
  });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve([error.message]));
    child.once("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      if (code !== 0 && obstacles.length === 0) obstacles.push(`ended with ${killedBy ?? code}`);
      resolve(obstacles);
    });
  });
}

const FAILED = "provision failed: ";

/** Low priority among everything on the machine, not only within our session. */
function stepBack() {
  setPriority(NICENESS);
  try {
    writeFileSync("/proc/self/autogroup", `${NICENESS}`);
  } catch {
    // The kernel groups no sessions, or the account may not.
  }
}

async function provide(names) {
  stepBack();
  for (const name of names) {
    const started = Date.now();
    const say = (text) => process.stderr.write(`${name}: ${text}\n`);
    try {
      await PROVISIONS[name].get(say);
      const seconds = Math.round((Date.now() - started) / 1000);
      keepDurations([[name, seconds]]);
      say(`ready after ${seconds} s`);
    } catch (error) {
      const [first] = `${error.message}`.trim().split("\n");
      process.stderr.write(`${error.message}\n${FAILED}${name}: ${first}\n`);
      process.exitCode = 1;
    }
  }
}

async function printPlan() {
  const missing = await missingProvisions(
    testFiles().flatMap(({ path, kind }) => (kind === "integration" ? [path] : [])),
  );
  console.log(
    missing.length === 0
      ? "nothing to build or fetch for the tests: all is in the cache"
      : `to be built or fetched once for this machine: ${provisionPlan(missing)}`,
  );
}

if (process.argv[1] === SELF) {
  const names = process.argv.slice(2);
  if (names.includes("--plan")) await printPlan();
  else await provide(names.length > 0 ? names : PROVISION_NAMES);
}
