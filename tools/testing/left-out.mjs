// What `npm test` leaves to `npm test -- --all`, so that a newcomer sees all that needs only this machine in minutes.
import { neededProvisions } from "./provisions.mjs";

/** How a run calls what needs a provision, which takes long to build or to fetch. */
const BY_PROVISION = {
  "control plane": "API servers",
  "Go kubelet": "API servers",
  "node suite": "Kubernetes' node suite",
  "guest machine": "guests",
  "Go device plugin": "a device plugin in Go",
  kubectl: "kubectl",
};

/** Files that need this machine only, and are left out for what they cost. */
const BY_PATH = {
  // A browser and what it depends on are 400 MiB of packages.
  browsers: ["test/page/page.it.ts"],
  // Each takes a guard out of the sources, and plays up to hundreds of histories or all tests of a file until one fails.
  mutants: [
    "test/sim/bite-eviction.test.ts",
    "test/sim/bite-memory.test.ts",
    "test/sim/bite.test.ts",
    "tools/mutants/mutants.test.ts",
  ],
  // Hundreds of histories: more than a minute of processor time each.
  "histories of devices and broken objects": [
    "test/sim/devices.test.ts",
    "test/sim/isolation.test.ts",
  ],
  // A containerd and a runc that the machine does not have are fetched.
  "newer runtimes": [
    "test/cli/deprecations.it.ts",
    "test/pods/user-namespaces.it.ts",
    "test/setup/newer-pods.it.ts",
    "test/volumes/newer-runtime.it.ts",
  ],
  // A Debian is fetched by debootstrap: three minutes the first time.
  "a Debian 13": ["test/setup/debian-13.it.ts", "test/setup/debian-13-package.it.ts"],
  // All kinds of packages are built twice, types included.
  packages: ["test/packages/packages.it.ts"],
  // Each plays long lives of pods or of the agent against the clock: one to four minutes, mostly of waiting.
  "long stories": [
    "test/agent/event-traffic.it.ts",
    "test/agent/stories.it.ts",
    "test/cli/supervisor.it.ts",
    "test/cli/up.it.ts",
  ],
  // They fill memory, disks and tables of processes, run hundreds of probes, or kill for a while what runs: up to a minute
  // of processor time each.
  "nodes under load": [
    "test/agent/chaos.it.ts",
    "test/agent/hung-filesystem.it.ts",
    "test/devices/kill-allocate.it.ts",
    "test/eviction/disks.it.ts",
    "test/eviction/kills.it.ts",
    "test/eviction/memory.it.ts",
    "test/eviction/processes.it.ts",
    "test/images/collection.it.ts",
    "test/localapi/crash.it.ts",
    "test/localapi/damaged.it.ts",
    "test/probes/crowd.it.ts",
    "test/probes/hostile.it.ts",
    "test/probes/restart.it.ts",
  ],
};

/** Seeds of the simulation in a run that leaves something out; the others are left, too. */
export const FEWER_SEEDS = "30";
export const ALL_SEEDS = "100";

/** `{ run, left }`: files as `testFiles` gives them, and the number of those left for each name of what they need. */
export function splitFiles(files) {
  const named = files.map((file) => [file, whyLeft(file)]);
  const left = Map.groupBy(
    named.flatMap(([, why]) => why ?? []),
    (why) => why,
  );
  return {
    run: named.flatMap(([file, why]) => (why === undefined ? [file] : [])),
    left: new Map([...left].map(([why, all]) => [why, all.length])),
  };
}

function whyLeft({ path, kind }) {
  for (const [why, paths] of Object.entries(BY_PATH)) if (paths.includes(path)) return why;
  return kind === "integration" ? firstNeeded(path, Object.keys(BY_PROVISION)) : undefined;
}

/** How a run calls the first of the provisions that the file needs; undefined when it needs none of them. */
function firstNeeded(path, names) {
  const needed = neededProvisions(path);
  return names.flatMap((name) => (needed.includes(name) ? BY_PROVISION[name] : []))[0];
}

/**
 * `{ run, left }` of integration files on a machine that cannot have some provisions, `unavailable` being the reasons by
 * their names: how many files are left, by the words for what they need with the reason.
 */
export function splitUnavailable(files, unavailable) {
  const run = [];
  const left = new Map();
  for (const file of files) {
    const name = [...unavailable.keys()].find((each) => firstNeeded(file.path, [each]));
    if (name === undefined) run.push(file);
    else {
      const why = `${BY_PROVISION[name]}, ${unavailable.get(name)}`;
      left.set(why, (left.get(why) ?? 0) + 1);
    }
  }
  return { run, left };
}

/** The line about what was left. */
export function leftLine(left) {
  const seeds = `${Number(ALL_SEEDS) - Number(FEWER_SEEDS)} more seeds`;
  return `left for \`npm test -- --all\`: ${[...counted(left), seeds].join(", ")}`;
}

/** The line about what this machine cannot run, and what it ran in another way; undefined when it runs everything. */
export function unavailableLine(left, otherwise) {
  const parts = [...counted(left), ...otherwise];
  return parts.length === 0
    ? undefined
    : `left, since this machine does not have what it takes: ${parts.join("; ")}`;
}

function counted(left) {
  return [...left].map(([why, count]) => `${why} (${count} ${count === 1 ? "file" : "files"})`);
}

/** All paths that are named here, for the test that checks that they exist. */
export const NAMED_PATHS = Object.values(BY_PATH).flat();
/** All provisions that have a name for the line. */
export const NAMED_PROVISIONS = Object.keys(BY_PROVISION);
