// Pods whose containers end, fail their probes, or are started again.
import type { Probe } from "../../../src/api/generated/types.ts";
import { commandOf } from "../programs.ts";
import { container, exits, GREEDY, type Play, pod, SLEEP, type Story } from "./story.ts";

const asking = (code: number, more: Partial<Probe> = {}): Probe => ({
  exec: { command: [...commandOf(exits(code, 0))] },
  periodSeconds: 5,
  // On a real node that is busy a command may take more than the usual second.
  timeoutSeconds: 5,
  ...more,
});
/** Ends its container over and over; until the first failure of the next attempt there is time to read what is printed. */
const failing = asking(1, { failureThreshold: 2, initialDelaySeconds: 5 });
const limited = { resources: { limits: { memory: "64Mi" } } };

/** The kernel kills the container a few seconds after its start. */
const oomKilled: Play = async (node) => {
  node.create();
  await node.pass(10);
  for (let times = 0; times < 2; times += 1) {
    await node.outOfMemory();
    await node.pass(5);
  }
};

/** The same in a pod that has a limit too, which was reached so often by then. */
const oomKilledInPod =
  (hits: number): Play =>
  async (node) => {
    node.create();
    await node.pass(10);
    for (const times of [1, 2]) {
      node.countLimitHits(hits * times);
      await node.outOfMemory();
      await node.pass(5);
    }
  };
const limitedTwice = pod({
  resources: { limits: { memory: "128Mi" } },
  containers: [container(SLEEP, { ...limited, ...GREEDY })],
});

export const RUNNING_STORIES: readonly Story[] = [
  { name: "all is well", pod: pod() },
  {
    name: "init containers run first",
    pod: pod({ initContainers: [container(exits(0), { name: "prepare" })] }),
  },
  {
    name: "an init container is still running",
    pod: pod({ initContainers: [container(SLEEP, { name: "prepare" })] }),
  },
  {
    name: "an init container fails and is not restarted",
    pod: pod({
      restartPolicy: "Never",
      initContainers: [container(exits(2), { name: "prepare" })],
    }),
  },
  {
    name: "an init container fails again and again",
    pod: pod({ initContainers: [container(exits(2), { name: "prepare" })] }),
  },
  {
    name: "a container fails again and again",
    pod: pod({ containers: [container(exits(1))] }),
    play: async (node) => {
      node.create();
      await node.pass(20);
    },
  },
  {
    name: "a container ends well and is restarted all the same",
    pod: pod({ containers: [container(exits(0))] }),
    play: async (node) => {
      node.create();
      await node.pass(5);
    },
  },
  {
    name: "a job completes",
    pod: pod({ restartPolicy: "OnFailure", containers: [container(exits(0))] }),
  },
  {
    name: "a job fails and is not restarted",
    pod: pod({ restartPolicy: "Never", containers: [container(exits(3))] }),
  },
  {
    name: "a job with a sidecar completes",
    pod: pod({
      restartPolicy: "Never",
      initContainers: [container(SLEEP, { name: "proxy", restartPolicy: "Always" })],
      containers: [container(exits(0))],
    }),
  },
  {
    name: "a container exceeds its memory limit",
    pod: pod({ containers: [container(SLEEP, { ...limited, ...GREEDY })] }),
    play: oomKilled,
  },
  {
    name: "a container exceeds the memory limit of its pod",
    pod: pod({
      resources: { limits: { memory: "128Mi" } },
      containers: [container(SLEEP, GREEDY)],
    }),
    play: oomKilled,
  },
  {
    name: "a container and its pod have a memory limit, and it exceeds its own",
    pod: limitedTwice,
    play: oomKilledInPod(0),
  },
  {
    name: "a container and its pod have a memory limit, and the pod's is exceeded",
    pod: limitedTwice,
    options: { cgroupVersion: 2 },
    play: oomKilledInPod(1),
  },
  {
    name: "a container and its pod have a memory limit, and cgroup v1 does not show whose is exceeded",
    pod: limitedTwice,
    options: { cgroupVersion: 1 },
    play: oomKilledInPod(1),
  },
  { name: "the node runs out of memory and kills a container", pod: pod(), play: oomKilled },
  {
    name: "somebody kills its process",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      await node.killProcess();
      await node.pass(5);
    },
  },
  {
    name: "its liveness probe fails",
    pod: pod({
      containers: [container(SLEEP, { livenessProbe: failing })],
    }),
    play: async (node) => {
      node.create();
      await node.pass(14);
    },
  },
  {
    name: "its startup probe never succeeds",
    pod: pod({
      containers: [container(SLEEP, { startupProbe: failing })],
    }),
    play: async (node) => {
      node.create();
      await node.pass(14);
    },
  },
  {
    name: "its readiness probe fails",
    pod: pod({ containers: [container(SLEEP, { readinessProbe: asking(1) })] }),
    play: async (node) => {
      node.create();
      await node.pass(4);
    },
  },
  {
    name: "a readiness gate is not set",
    pod: pod({ readinessGates: [{ conditionType: "example.com/ready" }] }),
  },
  {
    name: "its post-start hook fails",
    pod: pod({
      restartPolicy: "Never",
      containers: [
        container(SLEEP, {
          lifecycle: { postStart: { exec: { command: [...commandOf(exits(1, 0))] } } },
        }),
      ],
    }),
  },
  {
    name: "its sandbox dies",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      await node.killSandbox();
      await node.pass(20);
    },
  },
  {
    name: "the end of one container restarts all of them",
    options: { featureGates: { RestartAllContainersOnContainerExits: true } },
    pod: pod({
      containers: [
        container(SLEEP),
        container(exits(42, 5_000), {
          name: "trigger",
          restartPolicy: "Never",
          restartPolicyRules: [
            { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
          ],
        }),
      ],
    }),
    play: async (node) => {
      node.create();
      await node.pass(8);
    },
  },
  {
    name: "its image is changed in place",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.changeImage("nodelet.test/nodelet-test:2");
      await node.pass(10);
    },
  },
  {
    name: "other resources are asked for than the node has",
    pod: pod({ containers: [container(SLEEP, { resources: { requests: { cpu: "1" } } })] }),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.resize({ requests: { cpu: "100" } });
      await node.pass(10);
    },
  },
  {
    name: "new resources need a restart",
    pod: pod({
      containers: [
        container(SLEEP, {
          resources: { requests: { memory: "64Mi" } },
          resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
        }),
      ],
    }),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.resize({ requests: { memory: "128Mi" } });
      await node.pass(15);
    },
  },
];
