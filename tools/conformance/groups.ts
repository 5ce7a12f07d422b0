// pure
/** Groups of specs that are run and published together. */

/** Which specs of a suite run. */
export interface Selection {
  /** Regular expressions; any of them is enough. */
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** ginkgo's label filter. */
  readonly labels?: string;
}

/** Suites of Kubernetes: of one node alone, and of a cluster. */
export type SuiteName = "node" | "cluster";

interface Group extends GroupSetUp {
  /** Default `node`. */
  readonly suite?: SuiteName;
  readonly title: string;
  readonly about: string;
  readonly selection: Selection;
  /** Swap of a guest, in MiB: most specs for swap need some. Default none; the machine's own is as it is. */
  readonly guestSwapMib?: number;
  /** Specs at once. */
  readonly procs: number;
  /** Seed of ginkgo's random order of specs; another one for each run if absent. */
  readonly seed?: number;
}

/** Flags of a suite, and of the kubelet that it starts, beside those that all groups have; what else its node has. */
export interface GroupSetUp {
  /** Size of a disk that the node has for itself, in MiB; 0 for a share of the machine's, the default. */
  readonly diskMib?: number;
  readonly suiteFlags?: readonly string[];
  readonly kubeletFlags?: readonly string[];
  /** Whether systemd-logind runs on the node, on a system bus. */
  readonly logind?: boolean;
}

/** One spec writes 10 GiB; what no pod fills takes no space on the machine. */
const EVICTION_DISK_MIB = 16_384;

const GUEST_SWAP_MIB = 1_024;

/** By the word of the command line. */
export const GROUPS = {
  node: {
    title: "Node suite: NodeConformance, in parallel",
    about:
      "Specs of `e2e_node.test` marked NodeConformance and neither Serial nor Flaky, many at once.",
    selection: { focus: ["\\[NodeConformance\\]"], skip: ["\\[Flaky\\]", "\\[Serial\\]"] },
    procs: 20,
    // One spec takes 26 minutes, whichever the kubelet: it waits three times for the longest back-off. In this order it comes first.
    seed: 7,
  },
  "node-serial": {
    title: "Node suite: NodeConformance, one after the other",
    about: "Specs of `e2e_node.test` marked NodeConformance and Serial, and not Flaky.",
    selection: {
      focus: ["\\[NodeConformance\\].*\\[Serial\\]", "\\[Serial\\].*\\[NodeConformance\\]"],
      skip: ["\\[Flaky\\]"],
    },
    procs: 1,
    guestSwapMib: GUEST_SWAP_MIB,
  },
  "node-others": {
    title: "Node suite: all other specs that run in parallel",
    about:
      "Specs of `e2e_node.test` that are not NodeConformance and need no special hardware, set-up or alpha gate.",
    selection: {
      focus: ["."],
      skip: ["\\[NodeConformance\\]", "\\[Flaky\\]", "\\[Serial\\]", "\\[Feature:", "\\[Alpha\\]"],
    },
    procs: 10,
  },
  "node-others-serial": {
    title: "Node suite: all other specs, one after the other",
    about:
      "Specs of `e2e_node.test` that are Serial, not NodeConformance, in no other group, and need no special hardware or alpha gate; without those that only measure.",
    selection: {
      focus: ["\\[Serial\\]"],
      skip: [
        ...["\\[NodeConformance\\]", "\\[Flaky\\]", "\\[Alpha\\]", "\\[Feature:StandaloneMode\\]"],
        ...["\\[Feature:LockContention\\]", "\\[Feature:CriProxy\\]", "\\[Feature:Eviction\\]"],
        ...["\\[Feature:GracefulNodeShutdown\\]", "Eviction\\w*PodLevelResources"],
        // A second disk; project quotas, of which nodelet makes no use.
        ...["\\[Feature:KubeletSeparateDiskGC\\]", "\\[Feature:LSCIQuotaMonitoring\\]"],
        ...["\\] Density ", "\\] Resource-usage ", "\\] Node Performance Testing "],
      ],
    },
    procs: 1,
    guestSwapMib: GUEST_SWAP_MIB,
  },
  "node-standalone": {
    title: "Node suite: a kubelet without an API server",
    about:
      "Specs of `e2e_node.test` marked StandaloneMode, on a kubelet that has only static pods.",
    selection: { focus: ["\\[Feature:StandaloneMode\\]"], skip: ["\\[Flaky\\]", "\\[Alpha\\]"] },
    procs: 1,
    suiteFlags: ["--standalone-mode=true"],
  },
  "node-lock": {
    title: "Node suite: a kubelet with a lock file",
    about:
      "Specs of `e2e_node.test` marked LockContention, on a kubelet that leaves its lock to others.",
    selection: { focus: ["\\[Feature:LockContention\\]"], skip: ["\\[Flaky\\]"] },
    procs: 1,
    kubeletFlags: ["--lock-file=/var/run/kubelet.lock", "--exit-on-lock-contention"],
  },
  "node-cri-proxy": {
    title: "Node suite: a runtime that fails and is slow",
    about:
      "Specs of `e2e_node.test` marked CriProxy, with the suite's proxy between kubelet and runtime.",
    selection: { focus: ["\\[Feature:CriProxy\\]"], skip: ["\\[Flaky\\]", "\\[Alpha\\]"] },
    procs: 1,
    suiteFlags: ["--cri-proxy-enabled=true"],
  },
  "node-shutdown": {
    title: "Node suite: graceful shutdown",
    about:
      "Specs of `e2e_node.test` marked GracefulNodeShutdown, on a node with systemd-logind and a system bus.",
    selection: { focus: ["\\[Feature:GracefulNodeShutdown\\]"], skip: ["\\[Flaky\\]"] },
    procs: 1,
    logind: true,
  },
  "node-eviction-memory": {
    title: "Node suite: eviction for memory and process ids",
    about:
      "Specs of `e2e_node.test` that cause MemoryPressure or PIDPressure, on a node with a disk of its own.",
    selection: {
      focus: [
        "Eviction\\w*PodLevelResources",
        "\\[Feature:Eviction\\].*should cause (Memory|PID)Pressure",
      ],
      skip: ["\\[Flaky\\]"],
    },
    procs: 1,
    diskMib: EVICTION_DISK_MIB,
  },
  "node-eviction-disk": {
    title: "Node suite: eviction for disk space and inodes",
    about: "All other specs of `e2e_node.test` marked Eviction, on a node with a disk of its own.",
    selection: {
      focus: ["\\[Feature:Eviction\\]"],
      skip: ["\\[Flaky\\]", "should cause (Memory|PID)Pressure"],
    },
    procs: 1,
    diskMib: EVICTION_DISK_MIB,
  },
  cluster: {
    suite: "cluster",
    title: "Cluster suite: Conformance, in parallel",
    about:
      "Specs of `e2e.test` marked Conformance and not Serial, many at once, on a cluster of two nodes.",
    selection: { focus: ["\\[Conformance\\]"], skip: ["\\[Flaky\\]", "\\[Serial\\]"] },
    procs: 8,
  },
  "cluster-serial": {
    suite: "cluster",
    title: "Cluster suite: Conformance, one after the other",
    about: "Specs of `e2e.test` marked Conformance and Serial, on a cluster of two nodes.",
    selection: {
      focus: ["\\[Conformance\\].*\\[Serial\\]", "\\[Serial\\].*\\[Conformance\\]"],
      skip: ["\\[Flaky\\]"],
    },
    procs: 1,
  },
} as const satisfies Readonly<Record<string, Group>>;

/** Word of the command line for a group. */
export type GroupName = keyof typeof GROUPS;

/** Seed of the order of a group's specs; undefined if the order differs from run to run. */
export function seedOf(name: GroupName): number | undefined {
  const { seed }: Group = GROUPS[name];
  return seed;
}

/** Swap of a guest in which the group runs, in MiB. */
export function guestSwapOf(name: GroupName): number {
  const { guestSwapMib = 0 }: Group = GROUPS[name];
  return guestSwapMib;
}

/** The suite of a group, and what its set-up needs. */
export function setUpOf(name: GroupName): Required<Pick<Group, "suite" | keyof GroupSetUp>> {
  const {
    suite = "node",
    suiteFlags = [],
    kubeletFlags = [],
    logind = false,
    diskMib = 0,
  }: Group = GROUPS[name];
  return { suite, suiteFlags, kubeletFlags, logind, diskMib };
}

export function isGroupName(word: string): word is GroupName {
  return Object.hasOwn(GROUPS, word);
}
