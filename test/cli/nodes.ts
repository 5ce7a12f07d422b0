/** A node for the tests of what the command line shows. */
import type { CoreEvent } from "../../src/api/generated/types.ts";
import type { Overview } from "../../src/present/shapes.ts";
import { NOW, secondsAgo } from "./pods.ts";

/** The overview of a node that is well, with changes. */
export function anOverview(changes: Partial<Overview> = {}): Overview {
  const amounts = {
    cpuMilli: 4000,
    memoryBytes: 8 * 1024 ** 3,
    ephemeralStorageBytes: 100 * 1024 ** 3,
    pods: 110,
  };
  return {
    version: "0.1.0",
    kubernetesVersion: "v1.36.2",
    node: "edge-1",
    runtime: "containerd 1.6.20",
    addresses: ["192.0.2.10"],
    startedAtMs: NOW - 200_000,
    ready: true,
    why: "",
    conditions: [
      { type: "RuntimeReady", status: "True", message: "" },
      { type: "NetworkReady", status: "True", message: "" },
      { type: "SourcesSeen", status: "True", message: "" },
    ],
    capacity: amounts,
    allocatable: { ...amounts, memoryBytes: 7.5 * 1024 ** 3 },
    pods: { total: 1, byPhase: { Running: 1 } },
    containersRunning: 1,
    problems: 0,
    failingChecks: [
      { name: "runtime-listing", problem: "the runtime has not been listed for more than 90s" },
    ],
    runtimeDeprecations: [],
    agent: { cpuSeconds: 12.5, residentBytes: 80 * 1024 ** 2, loopDelayP99Seconds: 0.0012 },
    ...changes,
  };
}

/** An event about a pod, or about the node when no pod is named. */
export function anEvent(
  reported: { reason: string; message: string; type?: string; pod?: string; count?: number },
  ageSeconds: number,
): CoreEvent {
  const { pod, reason, message, type = "Normal", count = 1 } = reported;
  return {
    metadata: { name: `${pod ?? "edge-1"}.${reason}.${ageSeconds}`, namespace: "default" },
    involvedObject:
      pod === undefined
        ? { kind: "Node", name: "edge-1" }
        : { kind: "Pod", name: pod, namespace: "default", uid: `uid-${pod}` },
    reason,
    message,
    type,
    count,
    lastTimestamp: secondsAgo(ageSeconds),
    source: { component: "kubelet", host: "edge-1" },
  };
}
