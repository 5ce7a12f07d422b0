// pure
/** Whether this machine can be a node: facts in, verdicts with what to do about them out. */

import { isKernelAtLeast } from "../../kit/proc/kernel-version.ts";
import { humanBytes } from "../../present/amounts.ts";
import { counted } from "../../present/text.ts";
import { isContainerd2 } from "../../process/runtime-versions/series.ts";
import {
  type RuntimeProgram,
  vulnerabilitiesOf,
} from "../../process/runtime-versions/vulnerabilities.ts";

/** One verdict. */
export interface Check {
  readonly name: string;
  readonly level: "ok" | "warn" | "fail";
  /** Result of the check. */
  readonly found: string;
  /** How to fix it; empty for `ok`. */
  readonly fix: string;
}

/** A process that listens on a port of the agent. */
export interface TakenPort {
  readonly port: number;
  /** The setting that names the port. */
  readonly setting: string;
  /** `name (pid)` of who holds it, where that can be seen. */
  readonly holder: string | undefined;
}

/** The runtime that pods will run on. */
export type RuntimePlan =
  | {
      readonly kind: "found";
      readonly socket: string;
      readonly version: string;
      /** What it says of settings of its own that a later version of it will not support. */
      readonly deprecations: readonly string[];
    }
  | {
      readonly kind: "own";
      readonly socket: string;
      readonly running: boolean;
      /** Why the containerd that was found is not used; `undefined` when none was. */
      readonly notUsing: string | undefined;
    }
  | {
      readonly kind: "refused";
      readonly socket: string;
      readonly why: string;
      readonly fix: string;
    };

/** Facts about the machine. */
export interface MachineReport {
  readonly uid: number;
  /** The effective capabilities, one bit each (capabilities(7)). */
  readonly capabilities: bigint;
  readonly kernelVersion: string;
  /** `undefined` when an overlay could be mounted, else why not. */
  readonly overlayProblem: string | undefined;
  readonly cgroups:
    | { readonly version: 1 | 2; readonly controllers: ReadonlySet<string> }
    | { readonly version: undefined; readonly why: string };
  readonly swapBytes: number;
  readonly takenPorts: readonly TakenPort[];
  readonly disk: {
    readonly path: string;
    readonly availableBytes: number;
    readonly capacityBytes: number;
  };
  /** Programs that are needed and missing, with the Debian package of each. */
  readonly missing: readonly { readonly program: string; readonly debian: string }[];
  /** The node's name, or why there is none. */
  readonly nodeName: { readonly name: string } | { readonly problem: string };
  /** Process of the agent that `up` keeps running here. */
  readonly ownAgent: number | undefined;
  /** Other agents that manage pods here, as `name (pid)`. */
  readonly otherKubelets: readonly string[];
  readonly runtime: RuntimePlan;
  /** Versions of the programs that pods will run on; those that are missing or print none are left out. */
  readonly runtimeVersions: Readonly<Partial<Record<RuntimeProgram, string>>>;
  /** OCI runtimes that the machine has, and the user's choice for pods that name no RuntimeClass. */
  readonly ociRuntimes: { readonly found: readonly string[]; readonly chosen: string | undefined };
  readonly socketObstacle: string | undefined;
}

const SYS_ADMIN = 21n;
const NET_ADMIN = 12n;
const SYS_RESOURCE = 24n;
const NEEDED_CAPABILITIES = [
  { bit: SYS_ADMIN, name: "CAP_SYS_ADMIN", what: "mounts and namespaces" },
  { bit: NET_ADMIN, name: "CAP_NET_ADMIN", what: "the pods' network" },
] as const;

/** Whether a capability is held. */
export function holds(capabilities: bigint, bit: bigint): boolean {
  return ((capabilities >> bit) & 1n) === 1n;
}

/** Whether something may be protected from the kernel's killer better than it is now. */
export function mayLowerOomScore(capabilities: bigint): boolean {
  return holds(capabilities, SYS_RESOURCE);
}

const OLDEST_KERNEL = [4, 19] as const;
const NEEDED_CONTROLLERS = ["cpu", "memory"] as const;
const MIN_DISK_BYTES = 200 * 1024 ** 2;
/** Below this share of free space the agent begins to end pods (evictionHard nodefs.available). */
const EVICTION_SHARE = 0.1;

/** All verdicts, in the order of a manual check. */
export function judgeMachine(report: MachineReport): readonly Check[] {
  if (report.uid !== 0) return [judgeUser(report)];
  return [
    judgeUser(report),
    judgeCapabilities(report),
    judgeKernel(report),
    judgeCgroups(report),
    judgeSwap(report),
    judgePrograms(report),
    judgeRuntime(report),
    ...judgeDeprecations(report),
    judgeOciRuntimes(report),
    judgeVulnerabilities(report),
    judgeOthers(report),
    judgeName(report),
    judgePorts(report),
    judgeDisk(report),
  ];
}

function ok(name: string, found: string): Check {
  return { name, level: "ok", found, fix: "" };
}

function warn(name: string, found: string, fix: string): Check {
  return { name, level: "warn", found, fix };
}

function fail(name: string, found: string, fix: string): Check {
  return { name, level: "fail", found, fix };
}

function judgeUser({ uid }: MachineReport): Check {
  if (uid === 0) return ok("user", "root");
  return fail("user", `user id ${uid}`, "run it as root: sudo nodelet up");
}

function judgeCapabilities({ capabilities }: MachineReport): Check {
  const missing = NEEDED_CAPABILITIES.filter(({ bit }) => !holds(capabilities, bit));
  if (missing.length > 0) {
    const names = missing.map(({ name, what }) => `${name} (${what})`).join(", ");
    return fail(
      "rights",
      `no ${names}`,
      "run nodelet outside the container, or in a privileged one",
    );
  }
  if (mayLowerOomScore(capabilities)) return ok("rights", "all present");
  const without = "pods work, but none can be protected from the kernel's out-of-memory killer";
  return warn("rights", "no CAP_SYS_RESOURCE", without);
}

function judgeKernel({ kernelVersion, overlayProblem }: MachineReport): Check {
  if (!isKernelAtLeast(kernelVersion, OLDEST_KERNEL)) {
    const fix = `Kubernetes needs ${OLDEST_KERNEL.join(".")} or newer`;
    return warn("kernel", kernelVersion, fix);
  }
  if (overlayProblem === undefined) return ok("kernel", `${kernelVersion}, overlay mounts work`);
  const fix = "images are unpacked as full copies, which needs more disk space and time";
  return warn("kernel", `${kernelVersion}, no overlay mounts: ${overlayProblem}`, fix);
}

function judgeCgroups({ cgroups }: MachineReport): Check {
  if (cgroups.version === undefined)
    return fail("cgroups", cgroups.why, "mount cgroup2 at /sys/fs/cgroup");
  const { controllers, version } = cgroups;
  const missing = NEEDED_CONTROLLERS.filter((name) => !controllers.has(name));
  if (missing.length > 0) {
    const fix = `boot with cgroup_enable=${missing.join(",")}, or give this namespace the controllers`;
    return fail("cgroups", `version ${version} without ${missing.join(" and ")}`, fix);
  }
  const pids = controllers.has("pids") ? "" : ", no process limits (no pids controller)";
  if (version === 2) return ok("cgroups", `version 2${pids}`);
  const fix = "works, but is deprecated in Kubernetes: boot with cgroup v2 if you can";
  return warn("cgroups", `version 1${pids}`, fix);
}

function judgeSwap({ swapBytes }: MachineReport): Check {
  if (swapBytes === 0) return ok("swap", "off");
  const fix = "pods do not use it; written to the configuration as failSwapOn: false";
  return warn("swap", `${humanBytes(swapBytes)} on`, fix);
}

function judgePrograms({ missing }: MachineReport): Check {
  if (missing.length === 0) return ok("programs", "all present");
  const names = missing.map(({ program }) => program).join(", ");
  const packages = [...new Set(missing.map(({ debian }) => debian))].join(" ");
  return fail(
    "programs",
    `missing: ${names}`,
    `apt-get install --no-install-recommends ${packages}, or your distribution's equivalent`,
  );
}

function judgeRuntime(report: MachineReport): Check {
  const check = judgeRuntimePlan(report);
  const { containerd } = report.runtimeVersions;
  if (check.level !== "ok" || containerd === undefined || isContainerd2(containerd)) return check;
  const version = check.found.includes(containerd) ? "" : ` (${containerd})`;
  return warn(check.name, `${check.found}${version}`, LAST_OF_CONTAINERD_1);
}

/** The Go kubelet 1.38 takes the cgroup driver from the runtime only, and no containerd 1 has that call. */
const LAST_OF_CONTAINERD_1 =
  "containerd 1.x works with Kubernetes up to 1.37; 1.38 needs containerd 2.0 or newer";

function judgeRuntimePlan({ runtime, socketObstacle }: MachineReport): Check {
  switch (runtime.kind) {
    case "found":
      return ok("containerd", `${runtime.version} at ${runtime.socket}`);
    case "refused":
      return fail("containerd", `${runtime.socket}: ${runtime.why}`, runtime.fix);
    case "own": {
      if (socketObstacle !== undefined)
        return fail("containerd", socketObstacle, "choose a shorter --run-dir");
      if (runtime.running) return ok("containerd", `nodelet's own at ${runtime.socket}`);
      const own = "nodelet starts its own";
      if (runtime.notUsing === undefined) return ok("containerd", `none is running, ${own}`);
      return ok("containerd", `${own}; the one that was found is not used: ${runtime.notUsing}`);
    }
    default:
      return runtime satisfies never;
  }
}

/** Of containerd 1.7 and newer that somebody else has configured; ours is configured again by each version. */
function judgeDeprecations({ runtime }: MachineReport): readonly Check[] {
  if (runtime.kind !== "found" || runtime.deprecations.length === 0) return [];
  const fix =
    "a later containerd will not support it: change its configuration, or what asks for it";
  return runtime.deprecations.map((text) => warn("deprecated", text, fix));
}

function judgeOciRuntimes({ runtime, ociRuntimes: { found, chosen } }: MachineReport): Check {
  const name = "OCI runtimes";
  if (runtime.kind !== "own") {
    if (chosen === undefined)
      return ok(name, "those that the containerd in use is configured with");
    const fix = "set default_runtime_name in its configuration, or take --containerd own";
    return fail(
      name,
      `${chosen} cannot be chosen: the containerd in use is not nodelet's own`,
      fix,
    );
  }
  if (chosen !== undefined && !found.includes(chosen))
    return fail(name, `${chosen} is not installed`, `install it, or choose ${orWord(found)}`);
  if (found.length === 0) return warn(name, "none", "install runc or crun");
  return ok(
    name,
    `${found.join(", ")}; the default is ${chosen ?? found[0]} if it can run a container`,
  );
}

function orWord(names: readonly string[]): string {
  return names.length === 0 ? "runc" : names.join(" or ");
}

/** Names of vulnerabilities that are shown; the agent's log has all of them. */
const SHOWN_NAMES = 3;

function judgeVulnerabilities({ runtimeVersions }: MachineReport): Check {
  const name = "runtime CVEs";
  const programs = (["containerd", "runc"] as const).flatMap((program) => {
    const version = runtimeVersions[program];
    return version === undefined ? [] : [{ program, version }];
  });
  const found = programs.flatMap(
    ({ program, version }) => vulnerabilitiesOf(program, version) ?? [],
  );
  const shown = programs.map(({ program, version }) => `${program} ${version}`).join(", ");
  if (found.length === 0)
    return ok(name, shown === "" ? "no version known" : `${shown}: none known`);
  const updates = found.map(({ program, fixedIn }) => `${program} ${fixedIn}`).join(" and ");
  return warn(
    name,
    found
      .map(({ program, version, names }) => `${program} ${version}: ${someOf(names)}`)
      .join("; "),
    `update to ${updates}, or use packages of your distribution in which they are fixed`,
  );
}

function someOf(names: readonly string[]): string {
  const more = names.length - SHOWN_NAMES;
  return `${names.slice(0, SHOWN_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function judgeOthers({ otherKubelets, ownAgent }: MachineReport): Check {
  const [first] = otherKubelets;
  if (first === undefined)
    return ok(
      "other agents",
      ownAgent === undefined ? "none" : `none beside this node's own (process ${ownAgent})`,
    );
  const found = otherKubelets.join(", ");
  return fail(
    "other agents",
    `${found} is already running pods here`,
    "stop it, or use another machine",
  );
}

function judgeName({ nodeName }: MachineReport): Check {
  if ("name" in nodeName) return ok("node name", nodeName.name);
  return fail(
    "node name",
    nodeName.problem,
    "give the machine a valid name: hostnamectl set-hostname",
  );
}

function judgePorts({ takenPorts, ownAgent }: MachineReport): Check {
  if (takenPorts.length === 0)
    return ok("ports", ownAgent === undefined ? "free" : "in use by this node");
  const found = takenPorts.map(
    ({ port, holder }) => `${port} is taken${holder === undefined ? "" : ` by ${holder}`}`,
  );
  const settings = takenPorts.map(({ setting }) => setting).join(" and ");
  return fail(
    "ports",
    found.join(", "),
    `stop what listens there, or set ${settings} in the configuration`,
  );
}

function judgeDisk({ disk }: MachineReport): Check {
  const { path, availableBytes, capacityBytes } = disk;
  const found = `${humanBytes(availableBytes)} of ${humanBytes(capacityBytes)} free at ${path}`;
  if (availableBytes < MIN_DISK_BYTES)
    return fail("disk", found, `at least ${humanBytes(MIN_DISK_BYTES)} are needed`);
  if (availableBytes < capacityBytes * EVICTION_SHARE)
    return warn("disk", found, "below 10 % a Kubernetes node evicts pods to free space");
  return ok("disk", found);
}

/** The verdicts in one phrase: `11 checks passed`, `9 checks passed, 2 warnings`, … */
export function summarizeChecks(checks: readonly Check[]): string {
  const of = (level: Check["level"]) => checks.filter((check) => check.level === level).length;
  const parts = [`${counted(of("ok"), "check")} passed`];
  if (of("warn") > 0) parts.push(counted(of("warn"), "warning"));
  if (of("fail") > 0) parts.push(`${of("fail")} failed`);
  return parts.join(", ");
}
