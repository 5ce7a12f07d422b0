// Pods whose resources change: made, and asked for other resources, from a seeded source.
import type { Container, Pod, ResourceRequirements } from "../../src/api/generated/types.ts";
import type { Random } from "../../src/kit/random.ts";
import { commandOf } from "./programs.ts";
import { pick } from "./scenario.ts";

/** How the limits of a pod's containers stand to their requests; it never changes, as the class may not. */
type Shape = "guaranteed" | "burstable" | "unlimited";

const SHAPES: readonly Shape[] = ["guaranteed", "burstable", "unlimited"];
const POLICIES = ["NotRequired", "RestartContainer"] as const;

const shapeOf = ({ resources }: Container): Shape => {
  const { requests, limits } = resources ?? {};
  if (!limits) return "unlimited";
  return requests?.["cpu"] === limits["cpu"] ? "guaranteed" : "burstable";
};

const list = (cpuMilli: number, mebibytes: number) => ({
  cpu: `${cpuMilli}m`,
  memory: `${mebibytes}Mi`,
});

/** Now and then more than the node has. */
function amounts(random: Random, shape: Shape): ResourceRequirements {
  const huge = random.next() < 0.05 ? 8 : 1;
  const cpu = (1 + Math.floor(random.next() * 10)) * 100 * huge;
  const memory = (1 + Math.floor(random.next() * 10)) * 256;
  const requests = list(cpu, memory);
  if (shape === "unlimited") return { requests };
  return { requests, limits: shape === "guaranteed" ? requests : list(2 * cpu, 2 * memory) };
}

function container(name: string, random: Random, shape: Shape): Container {
  const looping = random.next() < 0.15;
  const program = looping ? ({ kind: "exit", code: 1, afterMs: 20_000 } as const) : undefined;
  return {
    name,
    image: "nodelet.test/nodelet-test:1",
    command: commandOf(program ?? { kind: "sleep" }),
    resources: amounts(random, shape),
    resizePolicy: ["cpu", "memory"].map((resourceName) => ({
      resourceName,
      restartPolicy: pick(random, POLICIES),
    })),
  };
}

/** A pod of one or two containers, some with a sidecar. */
export function resizablePod(name: string, random: Random): Pod {
  const shape = pick(random, SHAPES);
  const sidecar = { ...container("side", random, shape), restartPolicy: "Always" };
  return {
    metadata: { name, namespace: "default" },
    spec: {
      nodeName: "sim",
      priority: pick(random, [0, 0, 100]),
      terminationGracePeriodSeconds: pick(random, [1, 5]),
      ...(random.next() < 0.3 ? { initContainers: [sidecar] } : {}),
      containers: ["a", "b"]
        .slice(0, 1 + Math.floor(random.next() * 2))
        .map((each) => container(each, random, shape)),
    },
  };
}

/** The pod as it is asked for next. */
export function resizedPod(pod: Pod, random: Random): Pod {
  const { spec, metadata } = pod;
  if (!spec) return pod;
  const change = (each: Container): Container =>
    random.next() < 0.7 ? { ...each, resources: amounts(random, shapeOf(each)) } : each;
  const { initContainers } = spec;
  return {
    ...pod,
    metadata: { ...metadata, generation: (metadata?.generation ?? 0) + 1 },
    spec: {
      ...spec,
      containers: spec.containers.map(change),
      ...(initContainers ? { initContainers: initContainers.map(change) } : {}),
    },
  };
}
