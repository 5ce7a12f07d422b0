import type { Container } from "../../src/api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../src/api/pod-identity.ts";
import {
  type CgroupOptions,
  defaultCgroupOptions,
  settingsFrom,
} from "../../src/subsystems/cgroups/options.ts";
import { type PodDemand, readDemand } from "../../src/subsystems/cgroups/plan/demand.ts";
import type { CgroupSettings } from "../../src/subsystems/cgroups/settings.ts";
import type { CgroupPlan } from "../../src/subsystems/cgroups/writes.ts";
import { FAKE_FACTS } from "../sim/fake-host.ts";

export type List = Readonly<Record<string, string>>;

export const GI = 2 ** 30;
export const ONE: List = { cpu: "1", memory: "1Gi" };
export const TWO: List = { cpu: "2", memory: "2Gi" };

const CONTROLLERS = new Set(["cpu", "cpuset", "memory", "pids", "hugetlb"]);

/** A node with 3 CPUs, 8 GiB and 2 MiB huge pages. */
export function settings(version: 1 | 2, options: Partial<CgroupOptions> = {}): CgroupSettings {
  return settingsFrom(
    { ...defaultCgroupOptions(version), ...options },
    { version, controllers: CONTROLLERS },
    FAKE_FACTS,
  );
}

export function container(
  name: string,
  requests?: List,
  limits?: List,
  more: Partial<Container> = {},
): Container {
  return { name, resources: { ...(requests && { requests }), ...(limits && { limits }) }, ...more };
}

export function podOf(
  uid: string,
  containers: readonly Container[],
  spec: Partial<NonNullable<IdentifiedPod["spec"]>> = {},
): IdentifiedPod {
  return identifyPod({
    metadata: { name: uid, namespace: "default", uid },
    spec: { containers, ...spec },
  });
}

export function pod(
  containers: readonly Container[],
  spec: Partial<NonNullable<IdentifiedPod["spec"]>> = {},
): IdentifiedPod {
  return podOf("u1", containers, spec);
}

export const GUARANTEED = pod([container("a", ONE, ONE)]);
export const BURSTABLE = pod([container("a", ONE, ONE), container("b", ONE, TWO)]);

/** The values of a plan that are written, by file. */
export function filesOf(plan: CgroupPlan): Record<string, string> {
  const written = plan.writes.filter(({ asFound }) => !asFound);
  return Object.fromEntries(written.map(({ file, value }) => [file, value]));
}

export function demand(of: IdentifiedPod): PodDemand {
  return readDemand(of, of.metadata?.uid ?? "");
}
