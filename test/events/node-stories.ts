// Stories of the node.
import { NODE } from "./agent-world.ts";
import { EXIT, NO_DNS, type Story } from "./story.ts";

/** What users see about the node. */
export const NODE_STORIES: readonly Story[] = [
  {
    name: "a dead container that cannot be removed",
    about: NODE,
    live: async (world) => {
      world.faults.set("removeContainer", "busy");
      world.faults.set("removeSandbox", "busy");
      await world.setDesired("web", { program: EXIT });
      await world.drop("web");
    },
    reported: ["Warning ContainerGCFailed: busy"],
  },
  {
    name: "a node without a cluster's resolver",
    about: NODE,
    live: (world) => world.setDesired("web"),
    reported: [`Warning MissingClusterDNS: ${NO_DNS}`],
  },
  {
    name: "a node that starts",
    about: NODE,
    live: (world) => world.clock.advance(1_000),
    reported: [
      "Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods",
      "Normal Starting: Starting kubelet.",
    ],
  },
  {
    name: "a node with an old kernel, swap and cgroup v1",
    about: NODE,
    world: {
      config: { failCgroupV1: false, failSwapOn: false },
      cgroupVersion: 1,
      facts: { swapBytes: 2 ** 30, kernelVersion: "5.10.0-30-amd64" },
    },
    live: (world) => world.clock.advance(1_000),
    reported: [
      "Normal Starting: Starting kubelet.",
      "Warning PossibleMemoryBackedVolumesOnDisk: The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.",
      "Warning CgroupV1: cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1",
    ],
  },
  {
    name: "a node with too many search domains",
    about: NODE,
    world: {
      files: {
        "/etc/resolv.conf": `search ${Array.from({ length: 33 }, (_, i) => `d${i}.test`).join(" ")}`,
      },
    },
    live: (world) => world.clock.advance(1_000),
    reported: [
      "Warning CheckLimitsForResolvConf: Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 32 domains!",
    ],
  },
  {
    name: "a node out of memory",
    about: NODE,
    world: {
      kernelLog: [
        [],
        [
          "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=hog,pid=4711,uid=0",
          "Out of memory: Killed process 4711 (hog) total-vm:1000kB, anon-rss:900kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:0",
        ],
      ],
    },
    // The log is read after ten seconds when no pod changes.
    live: (world) => world.clock.advance(11_000),
    reported: ["Warning SystemOOM: System OOM encountered, victim process: hog, pid: 4711"],
  },
];
