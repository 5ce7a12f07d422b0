// The only reasons for which a test may be left out, each with why nothing can be done about it and whether the
// obstacle really is there. Any other skip fails the run: what is not tested must not seem to be.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

const CAPABILITY_BIT = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n };

/** `reason` matches what the test says; `stands` checks that it is so, given the match. */
const ACCEPTED = [
  {
    reason: /^needs (Linux|x86-64 Linux)\b/,
    why: "nodelet runs on Linux; elsewhere only its pure parts can be tested",
    stands: () => process.platform !== "linux" || process.arch !== "x64",
  },
  {
    reason: /^needs root\b|takes root$/,
    why: "`npm run check` is for everybody; cgroups, mounts and namespaces are root's",
    stands: () => process.getuid?.() !== 0 || !existsSync("/sys/fs/cgroup"),
  },
  {
    reason: /^needs (CAP_[A-Z_]+)$/,
    why: "a container without the capability can have no namespaces of its own",
    stands: ([, name]) => !hasCapability(name),
  },
  {
    reason: /^needs cgroups mounted below \/sys\/fs\/cgroup$/,
    why: "there is no node without cgroups",
    stands: () => !/ \/sys\/fs\/cgroup/.test(readFileSync("/proc/self/mountinfo", "utf8")),
  },
  {
    reason: /^this machine (has cgroup v2 itself|runs v2)\b/,
    why: "one kernel has its controllers in one version; the tests of the other version run where that one is",
    stands: () => !mountsControllersOfV1(),
  },
  {
    reason: /^no (v2|hybrid) mount here$/,
    why: "the unified hierarchy is not mounted by every machine of version 1",
    stands: () =>
      !["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].some((folder) =>
        existsSync(`${folder}/cgroup.controllers`),
      ),
  },
  {
    reason: /^the kernel has no huge pages$/,
    why: "a kernel may be built without",
    stands: () => listOf("/sys/kernel/mm/hugepages").length === 0,
  },
  {
    reason: /loop device/,
    why: "a container may have no loop devices, and there are no other disks to format",
    stands: () => !canLoop(),
  },
  {
    reason: /^no number of renameat2 for /,
    why: "the number of the system call is known for x86-64 and arm64, which is where nodelet runs",
    stands: () => process.arch !== "x64" && process.arch !== "arm64",
  },
];

/** Why this skip is not accepted; undefined when its reason is listed and the obstacle is there. */
export function skipProblem(reason, accepted = ACCEPTED) {
  for (const each of accepted) {
    const match = each.reason.exec(reason);
    if (!match) continue;
    if (each.stands(match)) return undefined;
    return `is skipped although the obstacle is not there: ${reason}`;
  }
  return `is skipped for a reason that tools/testing/accepted-skips.mjs does not list: ${reason}`;
}

/** A result of `runFile` whose skips that are not accepted count as failures. */
export function judgeSkips(result, accepted = ACCEPTED) {
  const judged = result.skips.map((skip) => ({
    skip,
    problem: skipProblem(skip.reason, accepted),
  }));
  const refused = judged.filter(({ problem }) => problem !== undefined);
  return {
    ...result,
    skips: judged.filter(({ problem }) => problem === undefined).map(({ skip }) => skip),
    failures: [
      ...result.failures,
      ...refused.map(({ skip, problem }) => ({ name: skip.name, error: problem })),
    ],
  };
}

function hasCapability(name) {
  const line = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
  const bit = CAPABILITY_BIT[name];
  return bit === undefined || ((BigInt(`0x${line?.[1] ?? "0"}`) >> bit) & 1n) === 1n;
}

function mountsControllersOfV1() {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .some((line) => / - cgroup \S+ /.test(line) && !/ - cgroup \S+ \S*name=/.test(line));
}

function listOf(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Only asks for a free device; none is taken. */
function canLoop() {
  try {
    execFileSync("losetup", ["-f"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
