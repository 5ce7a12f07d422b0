/**
 * Groups for processes that are in no pod: what the root group holds goes into that of the system (`systemCgroups`), the
 * agent into its own (`kubeletCgroups`). In: the kernel's groups and processes. Out: groups, processes moved, the agent's OOM
 * score. Invariants: process 1 and threads of the kernel stay where they are, and so does what is in a group already
 * (container_manager_linux.go ensureSystemCgroups, ensureProcessInContainerWithOOMScore).
 */
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Host, ProcessFacts } from "../../outside/host/host.ts";
import { OWN_OOM_SCORE } from "./kernel.ts";

interface SystemGroupDeps {
  readonly host: Pick<Host, "cgroups" | "process" | "readKernel" | "writeKernel">;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** Settings of the groups; empty: none. */
export type SystemGroupOptions = Pick<
  KubeletConfig,
  "systemCgroups" | "kubeletCgroups" | "oomScoreAdj"
>;

type Step = readonly [what: string, act: () => Promise<void>];

/** Processes start processes meanwhile: the root is gone through this often at most. */
const MAX_PASSES = 11;
const PERIOD_MS = 60_000;
/** Where there is nothing but the agent's OOM score to check. */
const SCORE_PERIOD_MS = 300_000;

/** Starts the loop; it ends with the scope. */
export function startSystemGroups(options: SystemGroupOptions, deps: SystemGroupDeps): void {
  const { host, clock, log, scope } = deps;
  const { systemCgroups, kubeletCgroups, oomScoreAdj } = options;
  const score: Step = ["set the agent's OOM score", async () => setScore(oomScoreAdj, host)];
  const moves: Step[] = [];
  if (systemCgroups !== "")
    moves.push([
      `move processes of the system into ${systemCgroups}`,
      () => gatherSystem(asPath(systemCgroups), deps),
    ]);
  if (kubeletCgroups !== "")
    moves.push([
      `move the agent into ${kubeletCgroups}`,
      () => moveAgent(asPath(kubeletCgroups), deps),
    ]);
  const problems = new Map<string, string>();
  const attempt = async ([what, act]: Step) => {
    try {
      await act();
      problems.delete(what);
    } catch (error) {
      if (!isOutside(error)) throw error;
      // That the score may not be set was warned of at the start.
      const isKnown = what === score[0] || problems.get(what) === messageOf(error);
      problems.set(what, messageOf(error));
      if (isKnown) log.verbose(2, `failed to ${what}; will retry`, { error });
      else log.warn(`failed to ${what}; will retry`, { error });
    }
  };
  const loop = {
    name: "groups of the system",
    wakeOn: [],
    everyMs: moves.length > 0 ? PERIOD_MS : SCORE_PERIOD_MS,
    plan: () => [...moves, score],
    act: async (steps: readonly Step[]) => {
      for (const step of steps) await attempt(step);
    },
  };
  scope.spawn(loop.name, "restart", (signal) => runControlLoop(loop, clock.coalesced, signal));
}

/** The group's path from the root on, as the kernel shows it. */
function asPath(text: string): string {
  return `/${text.split("/").filter(Boolean).join("/")}`;
}

function setScore(wanted: number, host: SystemGroupDeps["host"]): void {
  const found = host.readKernel(OWN_OOM_SCORE);
  if (found !== undefined && found !== String(wanted))
    host.writeKernel(OWN_OOM_SCORE, String(wanted));
}

async function gatherSystem(path: string, { host, log }: SystemGroupDeps): Promise<void> {
  await host.cgroups.create(path);
  let problem: unknown;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const found = await strays(host);
    if (found.length === 0) return;
    problem = undefined;
    let moved = 0;
    for (const process of found) {
      try {
        await host.cgroups.write(path, "cgroup.procs", String(process.pid));
        moved += 1;
      } catch (error) {
        if (!isOutside(error)) throw error;
        if (await host.process(process.pid)) problem = error;
      }
    }
    if (moved > 0) log.info("moved processes of the system", { cgroup: path, processes: moved });
    if (moved === 0) break;
  }
  if (problem !== undefined) throw problem;
}

/** Processes that are in no group. */
async function strays(host: SystemGroupDeps["host"]): Promise<readonly ProcessFacts[]> {
  const found: ProcessFacts[] = [];
  for (const pid of await host.cgroups.members("/")) {
    const facts = pid === 1 ? undefined : await host.process(pid);
    // What has ended has no program left, as a thread of the kernel has none.
    if (facts && !facts.isKernelThread && facts.state !== "Z") found.push(facts);
  }
  return found;
}

/** The agent and the worker processes that it has started: they run the same program. */
async function moveAgent(path: string, { host, log }: SystemGroupDeps): Promise<void> {
  const { cgroups } = host;
  await cgroups.create(path);
  const pid = Number.parseInt(host.readKernel("/proc/self/stat") ?? "", 10);
  const own = Number.isNaN(pid) ? undefined : await host.process(pid);
  if (!own) return;
  const children = (host.readKernel(`/proc/${pid}/task/${pid}/children`) ?? "").split(" ");
  const all: (ProcessFacts | undefined)[] = [own];
  for (const child of children.filter(Boolean)) all.push(await host.process(Number(child)));
  for (const process of all) {
    if (process?.name !== own.name || isIn(process, path, cgroups.version)) continue;
    await cgroups.write(path, "cgroup.procs", String(process.pid));
    log.info("moved the agent into its cgroup", { cgroup: path, pid: process.pid });
  }
}

function isIn({ cgroups }: ProcessFacts, path: string, version: 1 | 2): boolean {
  const groups =
    version === 2
      ? [cgroups[""]]
      : ["cpu", "memory", "name=systemd"].flatMap((name) => cgroups[name] ?? []);
  return groups.every((group) => group === path);
}
