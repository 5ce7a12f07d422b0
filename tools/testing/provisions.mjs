// What integration tests need and no package brings ready-made: built or fetched once for a machine, in the background
// beside unit tests and simulation.
//   node tools/testing/provisions.mjs [name…]
//   node tools/testing/provisions.mjs --missing  what the integration tests need and the machine does not have yet
//   node tools/testing/provisions.mjs --plan     only says what that is, and how long it takes
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CACHE_DIR } from "../debian-suite.mjs";
import { buildPrograms, builtProgram } from "../go/build-programs.mjs";
import { buildControlPlane, controlPlaneObstacle, hasControlPlane } from "../go/control-plane.mjs";
import { FAMILIES } from "../go/families.mjs";
import { goObstacle, Unavailable } from "../go/go-command.mjs";
import { kernelPath, umlKernel } from "../guest/uml/kernel.mjs";
import { imagePath, rootImage } from "../guest/uml/root.mjs";
import { withLock } from "../setup/lock.mjs";
import { keepDurations, readDurations, roughly } from "./durations.mjs";
import { ROOT, testFiles } from "./files.mjs";

const SELF = fileURLToPath(import.meta.url);
/** Unit tests run meanwhile and are not to be slowed down. */
const NICENESS = 10;

/** Which containerd a box has that asks for none; test/box/containerd.ts reads it. */
export const BOX_CONTAINERD = "NODELET_BOX_CONTAINERD";
export const TODAYS_CONTAINERD = "2.4";

/** Today's containerd, and what it needs beside it. */
const CONTAINERD_2 = ["containerd", "runc", "cni-plugins"].flatMap((family) =>
  Object.keys(FAMILIES[family].programs),
);

/** Kubernetes' own tests of a node, and the programs of the images that they ask for. */
const NODE_SUITE = Object.keys(FAMILIES["kubernetes-suites"].programs).filter(
  (name) => !["e2e.test", "kube-proxy"].includes(name),
);

/**
 * Each with the words by which the source of a test file shows that it needs it, whether it is there, and how to get
 * it, which usually takes so long; `obstacle` says why it cannot be had, `wanted` whether tests that can do without are
 * to have it. In the order in which they are worth having:
 * what is quick first.
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
  "guest machine": {
    usually: "8 min on two cores",
    needed: /machineObstacle/,
    isThere: async () => [kernelPath(), imagePath()].every((path) => existsSync(path)),
    get: async (say) => {
      rootImage({ say });
      umlKernel({ say });
    },
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
  "containerd 2": {
    usually: "4 min on two cores",
    // Boxes that ask for no containerd have this one in a whole run, and the machine's own where it cannot be had.
    wanted: () => process.env[BOX_CONTAINERD] === TODAYS_CONTAINERD,
    obstacle: goObstacle,
    isThere: async () => CONTAINERD_2.every((name) => builtProgram(name) !== undefined),
    get: async (say) => buildPrograms(CONTAINERD_2, { say }),
  },
  "control plane": {
    usually: "10 min on two cores",
    needed: /apiServerObstacle|kube\/(apiserver|cluster-node)\.ts/,
    obstacle: controlPlaneObstacle,
    isThere: async () => hasControlPlane(),
    get: async (say) => buildControlPlane({ say }),
  },
  "node suite": {
    usually: "5 min on two cores",
    needed: /nodeSuiteObstacle/,
    obstacle: goObstacle,
    isThere: async () => NODE_SUITE.every((name) => builtProgram(name) !== undefined),
    get: async (say) => buildPrograms(NODE_SUITE, { say }),
  },
  "Go kubelet": {
    usually: "3 min on two cores",
    needed: /goKubeletObstacle/,
    obstacle: () => (process.env.GO_KUBELET ? undefined : goObstacle()),
    isThere: async () => Boolean(process.env.GO_KUBELET) || builtProgram("kubelet") !== undefined,
    get: async (say) => buildPrograms(["kubelet"], { say }),
  },
};

const kubectl = () => import("../../test/localapi/kubectl.ts");
const devicePrograms = () => import("../../test/devices/programs.ts");

export const PROVISION_NAMES = Object.keys(PROVISIONS);
/** Those without which some test files cannot run. */
export const NEEDED_PROVISIONS = PROVISION_NAMES.filter((name) => PROVISIONS[name].needed);

/** Names of what the test file needs, whether the machine has it or not. */
export function neededProvisions(path) {
  const source = readFileSync(join(ROOT, path), "utf8");
  return PROVISION_NAMES.filter((name) => PROVISIONS[name].needed?.test(source));
}

/** Names of what the test files need and the machine does not have yet. */
export async function missingProvisions(paths) {
  const needed = new Set(paths.flatMap(neededProvisions));
  const isWanted = (name) =>
    needed.has(name) || (paths.length > 0 && PROVISIONS[name].wanted?.() === true);
  const missing = [];
  for (const name of PROVISION_NAMES)
    if (isWanted(name) && !(await PROVISIONS[name].isThere())) missing.push(name);
  return missing;
}

/** Why it cannot be had here, as far as that shows without trying; undefined when it may, or is there already. */
export async function provisionObstacle(name) {
  const reason = PROVISIONS[name].obstacle?.();
  return reason !== undefined && !(await PROVISIONS[name].isThere()) ? reason : undefined;
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
 * Gets what is named in a process of its own, with a line to `note` for each step. Resolves with what failed, in words,
 * and with what this machine cannot have, as reasons by name; ends early when the signal says so.
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
  const failed = [];
  const unavailable = new Map();
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith(FAILED)) failed.push(line.slice(FAILED.length));
    const [, name, reason] = UNAVAILABLE_LINE.exec(line) ?? [];
    if (name !== undefined) unavailable.set(name, reason);
    note(line);
  });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ failed: [error.message], unavailable }));
    child.once("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      if (code !== 0 && failed.length === 0) failed.push(`ended with ${killedBy ?? code}`);
      resolve({ failed, unavailable });
    });
  });
}

const FAILED = "provision failed: ";
const UNAVAILABLE = "provision unavailable: ";
const UNAVAILABLE_LINE = new RegExp(`^${UNAVAILABLE}(${PROVISION_NAMES.join("|")}): (.*)$`);

/** Low priority among everything on the machine, not only within our session. */
function stepBack() {
  setPriority(NICENESS);
  try {
    writeFileSync("/proc/self/autogroup", `${NICENESS}`);
  } catch {
    // The kernel groups no sessions, or the account may not.
  }
}

/** One process at a time: the second finds what the first has got. */
async function provide(names) {
  stepBack();
  const work = async () => {
    for (const name of names) await provideOne(name);
  };
  await withLock(join(CACHE_DIR, "provisions.lock"), work, {
    other: "another run that builds or fetches the same",
  });
}

async function provideOne(name) {
  const started = Date.now();
  const say = (text) => process.stderr.write(`${name}: ${text}\n`);
  if (await PROVISIONS[name].isThere()) return;
  try {
    await PROVISIONS[name].get(say);
    const seconds = Math.round((Date.now() - started) / 1000);
    keepDurations([[name, seconds]]);
    say(`ready after ${seconds} s`);
  } catch (error) {
    const [first] = `${error.message}`.trim().split("\n");
    if (error instanceof Unavailable) {
      process.stderr.write(`${UNAVAILABLE}${name}: ${first}\n`);
      return;
    }
    process.stderr.write(`${error.message}\n${FAILED}${name}: ${first}\n`);
    process.exitCode = 1;
  }
}

/** Sets which containerd the boxes of a whole run have: today's where it can be built, unless the user named one. */
export function chooseContainerd() {
  if (goObstacle() === undefined) process.env[BOX_CONTAINERD] ??= TODAYS_CONTAINERD;
}

/** What a whole run of the tests would get. */
async function missingOfAll() {
  chooseContainerd();
  return await missingProvisions(
    testFiles().flatMap(({ path, kind }) => (kind === "integration" ? [path] : [])),
  );
}

async function printPlan() {
  const missing = await missingOfAll();
  console.log(
    missing.length === 0
      ? "nothing to build or fetch for the tests: all is in the cache"
      : `to be built or fetched once for this machine: ${provisionPlan(missing)}`,
  );
}

if (process.argv[1] === SELF) {
  const names = process.argv.slice(2);
  if (names.includes("--plan")) await printPlan();
  else if (names.includes("--missing")) await provide(await missingOfAll());
  else await provide(names.length > 0 ? names : PROVISION_NAMES);
}
