// Pods that are not on the node: the API has them, the agent has not.
import { container, type Play, pod, SLEEP, type Story } from "./story.ts";

/** The scheduler finds no node, and says so. */
const unschedulable =
  (message: string): Play =>
  async (node) => {
    node.create();
    node.reportUnschedulable(message);
    await node.pass(5);
  };

const asking = (requests: Readonly<Record<string, string>>) =>
  pod({ nodeName: "", containers: [container(SLEEP, { resources: { requests } })] });

export const SCHEDULING_STORIES: readonly Story[] = [
  {
    name: "no node has the CPU that it requests",
    pod: asking({ cpu: "100" }),
    play: unschedulable("0/1 nodes are available: 1 Insufficient cpu."),
  },
  {
    name: "no node has the memory that it requests",
    pod: asking({ memory: "10000Gi" }),
    play: unschedulable("0/1 nodes are available: 1 Insufficient memory."),
  },
  {
    name: "no node has the labels of its nodeSelector",
    pod: pod({ nodeName: "", nodeSelector: { disk: "ssd" } }),
    play: unschedulable(
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
  },
  {
    name: "every node is cordoned",
    pod: pod({ nodeName: "" }),
    play: unschedulable("0/1 nodes are available: 1 node(s) were unschedulable."),
  },
  {
    name: "every node has a taint that it does not tolerate",
    pod: pod({ nodeName: "" }),
    play: unschedulable(
      "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.",
    ),
  },
  {
    name: "it waits to be scheduled for a claim that does not exist",
    pod: pod({
      nodeName: "",
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "store" } }],
    }),
    play: unschedulable('0/1 nodes are available: persistentvolumeclaim "store" not found.'),
  },
  {
    name: "it has scheduling gates",
    pod: pod({ nodeName: "", schedulingGates: [{ name: "example.com/quota" }] }),
  },
  {
    name: "its scheduler does not run",
    pod: pod({ nodeName: "", schedulerName: "batch" }),
  },
  {
    name: "it is assigned to another node",
    pod: pod({ nodeName: "other" }),
  },
];
