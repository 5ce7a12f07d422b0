/**
 * What a pod costs with each OCI runtime, on bare CRI calls: `node tools/bench/oci-runtimes.ts [pods] [names…]`. One pod
 * at a time, the runtimes taking turns, so that what else the machine does meets all of them. Prints medians.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import type { ContainerRuntime } from "../../src/outside/cri/cri.ts";
import { type Box, withBox } from "../../test/box/box.ts";
import { TEST_IMAGE } from "../../test/box/images.ts";
import { findProgram } from "../../test/box/prerequisites.ts";
import { leaveHybrid } from "../../test/support/hybrid-cgroups.ts";
import { floorPod } from "./floor-pod.ts";
import { monotonicMs } from "./pod-observer.ts";
import { median } from "./statistics.ts";

const SIGNAL = new AbortController().signal;
const DEFAULT_PODS = 12;
const EXEC_SECONDS = 10;
const PEAK = ["memory.peak", "memory.max_usage_in_bytes"];

/** Times in milliseconds, sizes in KiB. */
type Figures = Readonly<Record<"sandbox" | "start" | "exec" | "stop" | "podPeak" | "shim", number>>;

function handlerSections(names: readonly string[]): string {
  const runtimes = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes';
  return names
    .map((name) => {
      const program = findProgram(name);
      if (program === undefined) throw new Error(`${name} is not installed`);
      const options = `BinaryName = "${program}"\nSystemdCgroup = false\n`;
      const type = 'runtime_type = "io.containerd.runc.v2"';
      return `[${runtimes}.by-${name}]\n${type}\n[${runtimes}.by-${name}.options]\n${options}`;
    })
    .join("");
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly of: T }> {
  const began = monotonicMs();
  const of = await work();
  return { ms: monotonicMs() - began, of };
}

/** Resident memory of the shim, which stays as long as the pod. */
function shimKib(sandbox: string): number {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      if (!argv.includes(sandbox)) continue;
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]);
    } catch {
      // Ended meanwhile.
    }
  }
  return Number.NaN;
}

/** Most memory that the pod's cgroup ever had: the runtime's own start inside it is part of that. */
function peakKib(box: Box, group: string): number {
  for (const name of PEAK) {
    try {
      return Number(readFileSync(join(box.cgroupPath(group), name), "utf8")) / 1024;
    } catch {
      // The file of the other version.
    }
  }
  return Number.NaN;
}

async function onePod(
  box: Box,
  { runtime }: Pick<ContainerRuntime, "runtime">,
  { handler, name }: { readonly handler: string; readonly name: string },
): Promise<Figures> {
  const files = { hosts: join(box.folder, "hosts"), termination: join(box.folder, "termination") };
  const { sandbox, container } = floorPod(name, TEST_IMAGE, files);
  const made = await timed(() => runtime.runSandbox(sandbox, handler, SIGNAL));
  const started = await timed(async () => {
    const id = await runtime.createContainer(made.of, container, sandbox, SIGNAL);
    await runtime.startContainer(id, SIGNAL);
    return id;
  });
  const exec = await timed(() => runtime.execSync(started.of, ["true"], EXEC_SECONDS, SIGNAL));
  const shim = shimKib(made.of);
  const podPeak = peakKib(box, sandbox.linux?.cgroupParent ?? "/");
  const stop = await timed(async () => {
    await runtime.stopContainer(started.of, 0, SIGNAL);
    await runtime.stopSandbox(made.of, SIGNAL);
    await runtime.removeSandbox(made.of, SIGNAL);
  });
  return { sandbox: made.ms, start: started.ms, exec: exec.ms, stop: stop.ms, podPeak, shim };
}

async function measure(pods: number, names: readonly string[]): Promise<void> {
  const all = new Map<string, Figures[]>(names.map((name) => [name, []]));
  await withBox({ containerdConfig: handlerSections(names) }, async (box) => {
    await leaveHybrid(box);
    for (const name of ["hosts", "termination"]) writeFileSync(join(box.folder, name), "");
    const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
    try {
      // The first pod of each only warms up.
      for (let at = 0; at <= pods; at++)
        for (const name of names) {
          const figures = await onePod(box, cri, { handler: `by-${name}`, name: `${name}-${at}` });
          if (at > 0) all.get(name)?.push(figures);
        }
    } finally {
      cri.close();
    }
  });
  for (const [name, figures] of all) {
    const of = (key: keyof Figures) => median(figures.map((each) => each[key]));
    const times = (["sandbox", "start", "exec", "stop"] as const).map(
      (key) => `${key} ${of(key).toFixed(0)} ms`,
    );
    const sizes = `peak of the pod ${of("podPeak").toFixed(0)} KiB, shim ${of("shim").toFixed(0)} KiB`;
    console.log(`${name}: ${times.join(", ")}, ${sizes}`);
  }
}

const [pods = String(DEFAULT_PODS), ...names] = process.argv.slice(2);
await measure(Number(pods), names.length > 0 ? names : ["runc", "crun"]);
