// Pods that are ended, and by whom.
import { commandOf } from "../programs.ts";
import { container, exits, type Play, pod, SLEEP, type Story } from "./story.ts";

const STUBBORN = { kind: "stubborn" } as const;

/** Somebody who may have pods deleted says why, and deletes. */
const disrupted =
  (reason: string): Play =>
  async (node) => {
    node.create();
    await node.pass(10);
    node.disrupt(reason);
    await node.pass(20);
  };

export const ENDING_STORIES: readonly Story[] = [
  {
    name: "it is deleted by a user",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.delete();
      await node.pass(20);
    },
  },
  {
    name: "it is deleted and does not stop within its grace period",
    pod: pod({ containers: [container(STUBBORN)] }),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.delete();
      await node.pass(20);
    },
  },
  {
    name: "it is deleted and is still stopping",
    pod: pod({ containers: [container(STUBBORN)], terminationGracePeriodSeconds: 120 }),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.delete();
      await node.pass(20);
    },
  },
  {
    name: "it is deleted by force",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.delete(undefined, { gracePeriodSeconds: 0 });
      await node.pass(20);
    },
  },
  {
    name: "the runtime does not stop its container",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.refusals.set("stopContainer", "failed to stop container: context deadline exceeded");
      node.delete();
      await node.pass(60);
    },
  },
  {
    name: "its pre-stop hook fails",
    pod: pod({
      containers: [
        container(SLEEP, {
          lifecycle: { preStop: { exec: { command: [...commandOf(exits(1, 0))] } } },
        }),
      ],
    }),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.delete();
      await node.pass(20);
    },
  },
  {
    name: "it is evicted through the API",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.evict();
      await node.pass(20);
    },
  },
  {
    name: "the node got a taint that it does not tolerate",
    pod: pod(),
    play: disrupted("DeletionByTaintManager"),
  },
  { name: "the scheduler preempted it", pod: pod(), play: disrupted("PreemptionByScheduler") },
  {
    name: "its manifest is removed",
    play: async (node) => {
      await node.manifest(pod());
      await node.pass(30);
      await node.removeManifest();
      await node.pass(30);
    },
  },
  {
    name: "its manifest is replaced",
    play: async (node) => {
      await node.manifest(pod());
      await node.pass(30);
      await node.manifest(
        pod({ containers: [container(SLEEP, { env: [{ name: "A", value: "2" }] })] }),
      );
      await node.pass(40);
    },
  },
  {
    name: "it runs longer than its deadline",
    pod: pod({ activeDeadlineSeconds: 20 }),
    play: async (node) => {
      node.create();
      await node.pass(40);
    },
  },
  {
    name: "it is evicted for memory",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      const { host } = node.world;
      host.kernelFiles.set("/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1000 kB");
      const file = host.cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current";
      host.cgroups.set("/", file, String(8_388_608 * 1024 - 1_000_000));
      await node.pass(30);
    },
  },
  {
    name: "the agent is restarted while it runs",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      await node.restartAgent();
      await node.pass(20);
    },
  },
  {
    name: "the agent is killed while its image is pulled",
    pod: pod({ containers: [container(SLEEP, { image: "nodelet.test/large:1" })] }),
    play: async (node) => {
      const { store } = node.world.runtime;
      store.pullTakes = (_, signal) => node.world.clock.sleep(40_000, signal);
      node.create();
      await node.pass(10);
      node.world.killAgent();
      await node.pass(5);
      node.world.startAgent();
      await node.pass(60);
    },
  },
  {
    name: "it was deleted while no agent ran",
    pod: pod(),
    play: async (node) => {
      node.create();
      await node.pass(10);
      node.world.killAgent();
      node.delete(undefined, { gracePeriodSeconds: 0 });
      await node.pass(5);
      node.world.startAgent();
      await node.pass(30);
    },
  },
];
