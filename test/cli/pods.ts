/** Pods for the tests of what the command line shows. */
import type { ContainerStatus, Pod } from "../../src/api/generated/types.ts";
import { rfc3339 } from "../../src/api/text/timestamps.ts";
import type { WallMs } from "../../src/kit/clock.ts";

/** The moment at which everything is shown. */
export const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

/** RFC 3339 of so many seconds before `NOW`. */
export function secondsAgo(seconds: number): string {
  return rfc3339((NOW - seconds * 1000) as WallMs);
}

/** A container that runs and is ready, with changes. */
export function running(changes: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name: "web",
    image: "localhost/web:1",
    imageID: "sha256:0123",
    containerID: "containerd://abc",
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: secondsAgo(60) } },
    ...changes,
  };
}

/** What a pod for a test is to be. */
export interface PodShape {
  readonly name?: string;
  readonly namespace?: string;
  readonly phase?: string;
  readonly ageSeconds?: number;
  readonly containers?: readonly ContainerStatus[];
  readonly init?: readonly ContainerStatus[];
  /** Names of init containers that are sidecars. */
  readonly sidecars?: readonly string[];
  readonly ready?: boolean;
  readonly initialized?: boolean;
  readonly status?: Partial<NonNullable<Pod["status"]>>;
  readonly deleting?: boolean;
}

/** A pod of node `edge-1`. */
export function aPod(shape: PodShape = {}): Pod {
  const { name = "web-edge-1", namespace = "default", phase = "Running", ageSeconds = 60 } = shape;
  const { containers = [running()], init = [], sidecars = [], ready = true } = shape;
  const conditions = [
    { type: "Initialized", status: shape.initialized === false ? "False" : "True" },
    { type: "Ready", status: ready ? "True" : "False" },
  ];
  return {
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      labels: { app: "web" },
      ...(shape.deleting === true ? { deletionTimestamp: secondsAgo(1) } : {}),
    },
    spec: {
      nodeName: "edge-1",
      containers: containers.map(({ name: container, image }) => ({ name: container, image })),
      ...(init.length === 0
        ? {}
        : {
            initContainers: init.map(({ name: container, image }) => ({
              name: container,
              image,
              ...(sidecars.includes(container) ? { restartPolicy: "Always" } : {}),
            })),
          }),
    },
    status: {
      phase,
      conditions,
      startTime: secondsAgo(ageSeconds),
      podIP: "10.85.0.2",
      podIPs: [{ ip: "10.85.0.2" }],
      hostIP: "192.0.2.10",
      qosClass: "BestEffort",
      containerStatuses: containers,
      ...(init.length === 0 ? {} : { initContainerStatuses: init }),
      ...shape.status,
    },
  };
}
