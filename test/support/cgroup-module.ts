import assert from "node:assert/strict";
import type { OutsideError } from "../../src/kit/errors.ts";
import { type LogFields, silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import type { CgroupTree } from "../../src/outside/host/host.ts";
import { type CgroupOptions, Cgroups } from "../../src/subsystems/cgroups/cgroups.ts";
import { defaultCgroupOptions } from "../../src/subsystems/cgroups/options.ts";
import { FAKE_FACTS, FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { container, ONE, podOf, TWO } from "./cgroup-pods.ts";

export const G = podOf("g", [container("container3", ONE, ONE)]);
export const B = podOf("b", [container("container1", ONE, ONE), container("container2", ONE, TWO)]);
export const BE = podOf("be", [container("container")]);

export interface CgroupModule {
  readonly cgroups: Cgroups;
  readonly tree: CgroupTree;
  readonly host: FakeHost;
  readonly metrics: MetricsRegistry;
  readonly warnings: (LogFields | undefined)[];
}

export type Fault = (operation: string, path: string) => OutsideError | undefined;

export function cgroupModule(
  version: 1 | 2,
  options: Partial<CgroupOptions> = {},
  fault?: Fault,
): CgroupModule {
  const clock = new SimClock();
  const host = new FakeHost({ clock, cgroupVersion: version, ...(fault && { fault }) });
  const metrics = new MetricsRegistry();
  const warnings: (LogFields | undefined)[] = [];
  const log = { ...silentLog, warn: (_: string, fields?: LogFields) => warnings.push(fields) };
  const cgroups = new Cgroups(
    { tree: host.cgroups, facts: FAKE_FACTS, clock, log, metrics },
    { ...defaultCgroupOptions(version), ...options },
  );
  return { cgroups, tree: host.cgroups, host, metrics, warnings };
}

/** Starts, takes the three pods of the worked example into account and makes their groups. */
export async function runExample(cgroups: Cgroups): Promise<void> {
  assert.deepEqual(await cgroups.start(), { kind: "enforced" });
  await cgroups.updateQos([G, B, BE]);
  for (const pod of [G, B, BE]) await cgroups.ensurePod(pod);
}
