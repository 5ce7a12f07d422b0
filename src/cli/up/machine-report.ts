/** Inspects the machine for `checks.ts`; changes nothing but for a trial mount that is undone at once. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deriveNodeName } from "../../config/derive.ts";
import { loadConfig } from "../../config/load.ts";
import { formatConfigProblem } from "../../config/problem.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Host } from "../../outside/host/host.ts";
import { findCniPlugins, findProgram, searchPath } from "../../process/programs.ts";
import { chooseContainerd } from "../../process/runtime-versions/choose-containerd.ts";
import { programVersion } from "../../process/runtime-versions/program-version.ts";
import {
  type MachineReport,
  mayLowerOomScore,
  type RuntimePlan,
  type TakenPort,
} from "./checks.ts";
import type { HostLedger, ProcessMark } from "./ledger.ts";
import { socketObstacle, type UpPaths } from "./paths.ts";
import { findRuntime, type RuntimeChoice } from "./runtime/find-runtime.ts";
import { ociRuntimes } from "./runtime/oci-runtimes.ts";
import { orphanedAgent, readSupervisor } from "./supervise/supervisor-note.ts";
import { holderOf, listenersByPort } from "./taken-ports.ts";

/** Subject of the request. */
interface Survey {
  readonly host: Host;
  readonly paths: UpPaths;
  readonly ledger: HostLedger | undefined;
  readonly containerd: RuntimeChoice;
  readonly ociRuntime: string | undefined;
}

/** Everything that the checks need. */
export async function surveyMachine(survey: Survey): Promise<MachineReport> {
  const { host, paths, ledger } = survey;
  const facts = await host.facts();
  const capabilities = effectiveCapabilities();
  const runtime = await findRuntime({
    choice: survey.containerd,
    paths,
    last: ledger?.runtime,
    mayLowerOomScore: mayLowerOomScore(capabilities),
  });
  const own = ownAgent(paths);
  const name = deriveNodeName(facts.hostname, "");
  return {
    uid: process.getuid?.() ?? 0,
    capabilities,
    kernelVersion: facts.kernelVersion,
    overlayProblem: runtime.kind === "own" ? overlayProblem(paths.stateDir) : undefined,
    cgroups: cgroupsOf(host),
    swapBytes: facts.swapBytes,
    takenPorts: await takenPorts(survey, own?.pid),
    ownAgent: own?.pid,
    disk: diskOf(paths.stateDir),
    missing: missingPrograms(runtime),
    nodeName: name.ok ? { name: name.name } : { problem: formatConfigProblem(name.problem) },
    otherKubelets: otherKubelets(),
    runtime,
    runtimeVersions: await runtimeVersions(runtime),
    ociRuntimes: {
      found: ociRuntimes(findProgram).map(({ name }) => name),
      chosen: survey.ociRuntime,
    },
    socketObstacle: socketObstacle(paths),
  };
}

async function runtimeVersions(runtime: RuntimePlan): Promise<MachineReport["runtimeVersions"]> {
  // `containerd 1.7.24`, as the running one says.
  const found = runtime.kind === "found" ? runtime.version.split(" ")[1] : undefined;
  const containerd = found ?? (await chooseContainerd())?.version;
  const runc = await programVersion("runc");
  return { ...(containerd ? { containerd } : {}), ...(runc ? { runc } : {}) };
}

/** The capabilities that this process may use, one bit each. */
function effectiveCapabilities(): bigint {
  const line = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return BigInt(`0x${line?.[1] ?? "0"}`);
}

function cgroupsOf(host: Host): MachineReport["cgroups"] {
  try {
    const { version, controllers } = host.cgroups;
    return { version, controllers };
  } catch (thrown) {
    return { version: undefined, why: messageOf(thrown) };
  }
}

/** Mounts an overlay where images will be unpacked, to test whether that works. */
function overlayProblem(stateDir: string): string | undefined {
  const mount = findProgram("mount");
  if (mount === undefined || process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(existingParent(stateDir), ".nodelet-trial-"));
  try {
    for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(folder, name));
    const options = `lowerdir=${folder}/lower,upperdir=${folder}/upper,workdir=${folder}/work`;
    const argv = ["-t", "overlay", "-o", options, "nodelet-trial", `${folder}/merged`];
    const { status, stderr } = spawnSync(mount, argv, { encoding: "utf8" });
    if (status !== 0) return stderr.trim().replace(/\s+/g, " ").replaceAll(folder, "…");
    execFileSync("umount", [`${folder}/merged`], { env: { PATH: searchPath() } });
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folder itself or the nearest one above it that exists. */
function existingParent(path: string): string {
  for (let at = path; at !== "/"; at = dirname(at)) if (isFolder(at)) return at;
  return tmpdir();
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
}

function diskOf(stateDir: string): MachineReport["disk"] {
  const path = existingParent(stateDir);
  const { bavail, blocks, bsize } = statfsSync(path);
  return { path: stateDir, availableBytes: bavail * bsize, capacityBytes: blocks * bsize };
}

const ALWAYS_NEEDED = [{ program: "mount", debian: "mount" }] as const;
const NEEDED_FOR_OWN = [
  { program: "containerd", debian: "containerd" },
  { program: "ctr", debian: "containerd" },
  { program: "runc", debian: "runc" },
  { program: "iptables", debian: "iptables" },
  { program: "ip", debian: "iproute2" },
] as const;

function missingPrograms(runtime: RuntimePlan): MachineReport["missing"] {
  const needed = runtime.kind === "own" ? [...ALWAYS_NEEDED, ...NEEDED_FOR_OWN] : ALWAYS_NEEDED;
  const missing = needed.filter(({ program }) => findProgram(program) === undefined);
  if (runtime.kind !== "own" || findCniPlugins() !== undefined) return missing;
  return [...missing, { program: "CNI plugins", debian: "containernetworking-plugins" }];
}

/** The agent that `up` keeps running here. */
function ownAgent(paths: UpPaths): ProcessMark | undefined {
  return readSupervisor(paths)?.agent ?? orphanedAgent(paths);
}

/** Ports that the configuration names and that another process than our own agent holds. */
async function takenPorts(
  { host, paths }: Survey,
  ownPid: number | undefined,
): Promise<readonly TakenPort[]> {
  const known = await host.files.facts(paths.config);
  const flags = known === undefined ? ["--enable-server=false"] : [`--config=${paths.config}`];
  const { config } = await loadConfig(flags, host.files, { cwd: "/" });
  const needed = [
    { setting: "port", port: config.enableServer ? config.port : 0 },
    { setting: "readOnlyPort", port: known === undefined ? 0 : config.readOnlyPort },
    { setting: "healthzPort", port: config.healthzPort },
  ];
  const listeners = listenersByPort();
  return needed.flatMap(({ setting, port }) => {
    const listener = port === 0 ? undefined : listeners.get(port);
    if (listener === undefined) return [];
    const holder = holderOf(listener);
    if (holder !== undefined && holder.pid === ownPid) return [];
    return [{ setting, port, holder: holder && `${holder.name} (${holder.pid})` }];
  });
}

/** Programs that act as a kubelet on the machine they run on. */
const KUBELETS = new Set(["kubelet", "kubelite", "k3s-server", "k3s-agent", "k0s", "rke2"]);

/** Kubelets that share our view of the machine; one in a container of its own is none of our business. */
function otherKubelets(): readonly string[] {
  const ownMounts = readlinkSync("/proc/self/ns/mnt");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
        const here = KUBELETS.has(name) && readlinkSync(`/proc/${pid}/ns/mnt`) === ownMounts;
        return here ? [`${name} (${pid})`] : [];
      } catch {
        return [];
      }
    });
}
