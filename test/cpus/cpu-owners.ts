/** Who has which CPU on a node of the CPU manager: by its state file, and by what the kernel lets each process use. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Box } from "../box/box.ts";
import { type BoxedAgent, type Manifest, manifest } from "../support/agent.ts";
import { numbersOf } from "../support/cpu-list.ts";
import { staying } from "../volumes/world.ts";

const STATE_FILE = "/var/lib/kubelet/cpu_manager_state";
const POLL_MS = 50;

/** Static: one CPU stays shared, all others can be had alone. */
export const STATIC = "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}";

/** A Guaranteed pod that has one CPU alone. */
export function owning(name: string): Manifest {
  const amounts = { cpu: "1", memory: "64Mi" };
  return manifest(name, {
    terminationGracePeriodSeconds: 0,
    containers: [staying("main", { resources: { requests: amounts, limits: amounts } })],
  });
}

/** A BestEffort pod, which runs on whatever nobody has alone. */
export function sharing(name: string): Manifest {
  return manifest(name, { terminationGracePeriodSeconds: 0, containers: [staying()] });
}

/** The file that the Go kubelet has, too. */
export interface CpuState {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** What the state file says now. */
export function cpuState(box: Box, path = STATE_FILE): CpuState {
  return JSON.parse(readFileSync(box.path(path), "utf8")) as CpuState;
}

/** By pod UID and container: the CPUs on which the kernel lets its process run, as a list; only those that run. */
export async function kernelCpus(
  box: Box,
  agent: BoxedAgent,
): Promise<ReadonlyMap<string, string>> {
  const tasks = await box.ctr("tasks", "ls");
  const pids = new Map(
    [...tasks.matchAll(/^([0-9a-f]{64})\s+(\d+)\s+RUNNING/gm)].map(([, id, pid]) => [id, pid]),
  );
  const found = new Map<string, string>();
  for (const [uid, { containerStatuses = [] }] of agent.statuses())
    for (const { name, containerID } of containerStatuses) {
      const pid = pids.get(containerID?.replace("containerd://", ""));
      const cpus = pid === undefined ? undefined : allowed(box.path(`/proc/${pid}/status`));
      if (cpus !== undefined) found.set(`${uid}/${name}`, cpus);
    }
  return found;
}

/** Undefined when the process has ended since. */
function allowed(path: string): string | undefined {
  try {
    return /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync(path, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

/** Fails unless no CPU has two owners in the state file, and each of these containers runs on what the file says. */
export function assertOneOwner(state: CpuState, kernel: ReadonlyMap<string, string>): void {
  const owners = new Map<number, string>();
  const entries = new Map<string, string>([["shared", state.defaultCpuSet]]);
  for (const [uid, containers] of Object.entries(state.entries ?? {}))
    for (const [name, cpus] of Object.entries(containers)) entries.set(`${uid}/${name}`, cpus);
  for (const [owner, cpus] of entries)
    for (const cpu of numbersOf(cpus)) {
      assert.equal(owners.get(cpu), undefined, `CPU ${cpu} has two owners: ${[...entries]}`);
      owners.set(cpu, owner);
    }
  for (const [container, cpus] of kernel)
    assert.equal(cpus, entries.get(container) ?? state.defaultCpuSet, container);
}

/** Waits until `assertOneOwner` holds; its error when it does not within the time. */
export async function untilOneOwner(box: Box, agent: BoxedAgent, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (;;)
    try {
      assertOneOwner(cpuState(box), await kernelCpus(box, agent));
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
}
