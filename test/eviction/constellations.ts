/**
 * Nodes of five pods, one of which has to go when memory runs short: class of service, request, priority and usage in
 * all the ways that decide. All pods together may use 400 MiB, and the threshold is met when less than 100 MiB of it
 * are left.
 */
import type { PodSpec } from "../../src/api/generated/types.ts";
import { podSpec } from "./node.ts";

export const PODS_MIB = 400;
export const THRESHOLD_MIB = 100;

/** One pod, in MiB. */
export interface Tenant {
  readonly uses: number;
  readonly request?: number;
  /** As much as the request makes the pod Guaranteed. */
  readonly limit?: number;
  readonly priority?: number;
  /**
   * What is special about it: of the class `system-node-critical`; from a manifest, with no API above it; two
   * containers that use so much each; the request is the pod's own; it uses a volume in memory.
   */
  readonly kind?: "critical" | "static" | "pair" | "pod-level" | "volume";
}

export interface Constellation {
  readonly name: string;
  /** By name; the last one is started when the others use what they use, and is what makes memory short. */
  readonly pods: Readonly<Record<string, Tenant>>;
  readonly victim: string;
}

export const CONSTELLATIONS: readonly Constellation[] = [
  {
    name: "a hog without a request among pods that use little",
    pods: {
      small: { uses: 10 },
      tiny: { uses: 5 },
      within: { uses: 40, request: 60 },
      guaranteed: { uses: 30, request: 50, limit: 50 },
      hog: { uses: 245 },
    },
    victim: "hog",
  },
  {
    name: "a hog far beyond its request before pods without one",
    pods: {
      free: { uses: 60 },
      small: { uses: 10 },
      within: { uses: 30, request: 50 },
      guaranteed: { uses: 40, request: 60, limit: 60 },
      hog: { uses: 190, request: 100 },
    },
    victim: "hog",
  },
  {
    name: "what is used beyond the request counts, not what is used",
    pods: {
      large: { uses: 150, request: 140 },
      small: { uses: 20 },
      within: { uses: 20, request: 40 },
      guaranteed: { uses: 20, request: 40, limit: 40 },
      greedy: { uses: 120, request: 10 },
    },
    victim: "greedy",
  },
  {
    name: "a guaranteed pod is spared although it uses most and came last",
    pods: {
      free: { uses: 90 },
      small: { uses: 10 },
      within: { uses: 20, request: 40 },
      other: { uses: 30, request: 40 },
      guaranteed: { uses: 180, request: 200, limit: 200 },
    },
    victim: "free",
  },
  {
    name: "the lower priority goes although it uses less",
    pods: {
      low: { uses: 80, priority: -10 },
      within: { uses: 20, request: 40 },
      other: { uses: 20, request: 40 },
      guaranteed: { uses: 20, request: 40, limit: 40 },
      important: { uses: 190, priority: 100 },
    },
    victim: "low",
  },
  {
    name: "no priority saves a pod beyond its request from those within theirs",
    pods: {
      within: { uses: 40, request: 60, priority: -100 },
      other: { uses: 40, request: 60, priority: -5 },
      third: { uses: 30, request: 50 },
      guaranteed: { uses: 20, request: 40, limit: 40 },
      important: { uses: 200, request: 20, priority: 1_000_000 },
    },
    victim: "important",
  },
  {
    name: "a critical pod stays, the next one goes",
    pods: {
      free: { uses: 90 },
      small: { uses: 10 },
      within: { uses: 40, request: 60 },
      other: { uses: 40, request: 60 },
      critical: { uses: 150, kind: "critical" },
    },
    victim: "free",
  },
  {
    name: "a static pod stays, the next one goes",
    pods: {
      free: { uses: 90 },
      small: { uses: 10 },
      within: { uses: 40, request: 60 },
      other: { uses: 40, request: 60 },
      manifest: { uses: 150, kind: "static" },
    },
    victim: "free",
  },
  {
    name: "of pods within their requests the lowest priority goes",
    pods: {
      low: { uses: 60, request: 80, priority: -1 },
      large: { uses: 60, request: 70 },
      high: { uses: 20, request: 40, priority: 5 },
      guaranteed: { uses: 20, request: 40, limit: 40 },
      critical: { uses: 170, kind: "critical" },
    },
    victim: "low",
  },
  {
    name: "containers of a pod count together",
    pods: {
      pair: { uses: 65, kind: "pair" },
      within: { uses: 40, request: 60 },
      other: { uses: 30, request: 50 },
      guaranteed: { uses: 20, request: 40, limit: 40 },
      single: { uses: 110 },
    },
    victim: "pair",
  },
  {
    name: "a request of the pod as a whole counts",
    pods: {
      whole: { uses: 150, request: 180, kind: "pod-level" },
      small: { uses: 10 },
      within: { uses: 30, request: 40 },
      other: { uses: 40, request: 50 },
      free: { uses: 100 },
    },
    victim: "free",
  },
  {
    name: "a volume in memory is used by its pod",
    pods: {
      free: { uses: 80 },
      within: { uses: 50, request: 60 },
      other: { uses: 40, request: 50 },
      guaranteed: { uses: 40, request: 60, limit: 60 },
      writer: { uses: 120, kind: "volume" },
    },
    victim: "writer",
  },
];

/** What the pods of a constellation use, in MiB; without the one named. */
export function usedMib({ pods }: Constellation, without?: string): number {
  return Object.entries(pods)
    .filter(([name]) => name !== without)
    .reduce((sum, [, { uses, kind }]) => sum + (kind === "pair" ? 2 * uses : uses), 0);
}

/** Holds memory until it is killed. */
const eat = (mib: number) => `exec eat-memory ${mib}`;
const write = (mib: number) => `dd if=/dev/zero of=/data/big bs=1M count=${mib}; exec sleep 3600`;

/** The pod as it is created. */
export function tenantSpec({ uses, request, limit, priority, kind }: Tenant): PodSpec {
  const mib = (amount: number | undefined) =>
    amount === undefined ? {} : { memory: `${amount}Mi` };
  // Class Guaranteed needs all four.
  const cpu = limit === undefined ? {} : { cpu: "500m" };
  const resources = {
    requests: { ...mib(request), ...cpu },
    ...(limit === undefined ? {} : { limits: { ...mib(limit), ...cpu } }),
  };
  const spec = podSpec(kind === "volume" ? write(uses) : eat(uses), {
    resources,
    ...(priority === undefined ? {} : { priorityClassName: priorityClass(priority) }),
    ...(kind === "critical" ? { priorityClassName: "system-node-critical" } : {}),
  });
  const [main] = spec.containers;
  if (!main) return spec;
  switch (kind) {
    case "pair":
      return { ...spec, containers: [main, { ...main, name: "second" }] };
    case "pod-level":
      return { ...spec, resources, containers: [{ ...main, resources: {} }] };
    case "volume":
      return {
        ...spec,
        volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
        containers: [{ ...main, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      };
    default:
      return spec;
  }
}

/** The class that has this value. */
export const priorityClass = (value: number): string => `p${value}`.replace("-", "-minus-");

/** The values that classes are needed for. */
export const PRIORITIES: readonly number[] = [
  ...new Set(
    CONSTELLATIONS.flatMap(({ pods }) =>
      Object.values(pods).flatMap(({ priority }) => (priority === undefined ? [] : [priority])),
    ),
  ),
];
