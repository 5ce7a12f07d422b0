// Pods that may not run here, or not yet.
import { container, pod, SLEEP, type Story } from "./story.ts";

const asking = (resources: Readonly<Record<string, string>>) =>
  pod({
    containers: [container(SLEEP, { resources: { requests: resources, limits: resources } })],
  });
const onPort = [container(SLEEP, { ports: [{ containerPort: 80, hostPort: 8080 }] })];

export const ADMISSION_STORIES: readonly Story[] = [
  {
    name: "another pod has the host port",
    play: async (node) => {
      node.create(pod({ containers: onPort }, { name: "first" }));
      await node.pass(5);
      node.create(pod({ containers: onPort }));
      await node.pass(5);
    },
  },
  { name: "it requests more CPU than the node has", pod: asking({ cpu: "100" }) },
  { name: "it requests more memory than the node has", pod: asking({ memory: "100Gi" }) },
  {
    name: "the node has as many pods as it may have",
    options: { config: { maxPods: 1 } },
    play: async (node) => {
      node.create(pod({}, { name: "first" }));
      await node.pass(5);
      node.create(pod());
      await node.pass(5);
    },
  },
  { name: "its nodeSelector does not match the node", pod: pod({ nodeSelector: { disk: "ssd" } }) },
  {
    name: "it does not tolerate a taint of the node",
    play: async (node) => {
      node.patchNode({ spec: { taints: [{ key: "gpu", value: "only", effect: "NoExecute" }] } });
      await node.pass(5);
      node.create(pod());
      await node.pass(10);
    },
  },
  { name: "it is for another operating system", pod: pod({ os: { name: "windows" } }) },
  {
    name: "it sets a sysctl that the node does not allow",
    pod: pod({ securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }),
  },
  {
    name: "the node is under memory pressure",
    play: async (node) => {
      node.world.host.kernelFiles.set("/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1000 kB");
      node.world.host.cgroups.set(
        "/",
        node.world.host.cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current",
        String(8_388_608 * 1024 - 1_000_000),
      );
      await node.pass(30);
      node.create(pod());
      await node.pass(5);
    },
  },
  {
    name: "it is critical and waits for the end of another pod",
    play: async (node) => {
      const big = { resources: { requests: { cpu: "2" } } };
      node.create(pod({ containers: [container(SLEEP, big)] }, { name: "victim" }));
      await node.pass(5);
      node.create(
        pod({
          priority: 2_000_000_000,
          priorityClassName: "system-node-critical",
          containers: [container(SLEEP, big)],
        }),
      );
      await node.pass(20);
    },
  },
  {
    name: "a critical pod needs its place",
    play: async (node) => {
      const big = { resources: { requests: { cpu: "2" } } };
      node.create(pod({ containers: [container(SLEEP, big)] }));
      await node.pass(5);
      const critical = {
        priority: 2_000_000_000,
        priorityClassName: "system-node-critical",
        containers: [container(SLEEP, big)],
      };
      node.create(pod(critical, { name: "critical" }));
      await node.pass(20);
    },
  },
];
