import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec } from "../../api/generated/types.ts";
import { resourceAmounts } from "../../api/pod/pod-resources.ts";
import {
  judgeResize,
  orderResizes,
  type ResizeInputs,
  type ResizeSettings,
  type WaitingResize,
} from "./judge-resize.ts";

const GI = 2 ** 30;
const SETTINGS: ResizeSettings = {
  podScaling: true,
  podLevelScaling: true,
  initContainerScaling: true,
  exclusiveCpuScaling: false,
  exclusiveMemoryScaling: false,
  podLevelManagers: false,
  preempts: false,
  cpuManagerPolicy: "none",
  memoryManagerPolicy: "None",
  limitedSwap: false,
};
const NODE_INFO = {
  allocatable: resourceAmounts({ cpu: "4", memory: "4Gi" }),
  pods: 10,
  runtimeClasses: true,
  allowedUnsafeSysctls: [],
};

type List = Readonly<Record<string, string>>;

/** A pod of one container. */
function pod(
  requests: List,
  limits?: List,
  more: Partial<Container & { spec: PodSpec }> = {},
): Pod {
  const { spec, ...container } = more;
  const resources = { requests, ...(limits ? { limits } : {}) };
  return {
    metadata: { name: "p", uid: "p" },
    spec: { containers: [{ name: "c", resources, ...container }], ...spec },
  };
}

/** A pod with an init container, a sidecar where it has a policy of its own. */
function withInit(cpu: string, restartPolicy?: string): Pod {
  const { spec, ...rest } = pod({ cpu: "1", memory: "1Gi" });
  const init = {
    name: "init",
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
  return { ...rest, spec: { containers: [], ...spec, initContainers: [init] } };
}

interface Row {
  readonly what: string;
  readonly from: Pod;
  readonly to: Pod;
  readonly others?: readonly Pod[];
  readonly settings?: Partial<ResizeSettings>;
  /** `kind rule: message`, or `fits`. */
  readonly reported: string;
}

const ONE = { cpu: "1", memory: "1Gi" };
const TWO = { cpu: "2", memory: "2Gi" };
const RESTARTS = {
  resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
};
const STATIC = (from: Pod): Pod => ({
  ...from,
  metadata: { ...from.metadata, annotations: { "kubernetes.io/config.source": "file" } },
});
const whole = (requests: List): Pod => ({
  metadata: { name: "w", uid: "w" },
  spec: { containers: [{ name: "c" }], resources: { requests } },
});

const ROWS: readonly Row[] = [
  { what: "resources are left", from: pod(ONE), to: pod(TWO), reported: "fits" },
  {
    what: "exactly as much as is left",
    from: pod(ONE),
    to: pod(TWO),
    others: [pod(TWO)],
    reported: "fits",
  },
  {
    what: "not now: memory",
    from: pod(ONE),
    to: pod({ cpu: "1", memory: "3Gi" }),
    others: [pod(TWO)],
    reported: `deferred resources: Node didn't have enough resource: memory, requested: ${3 * GI}, used: ${2 * GI}, capacity: ${4 * GI}`,
  },
  {
    what: "not now: cpu",
    from: pod(ONE),
    to: pod({ cpu: "2500m", memory: "1Gi" }),
    others: [pod(TWO)],
    reported:
      "deferred resources: Node didn't have enough resource: cpu, requested: 2500, used: 2000, capacity: 4000",
  },
  {
    what: "never: memory is named before cpu",
    from: pod(ONE),
    to: pod({ cpu: "5", memory: "4500Mi" }),
    reported:
      "infeasible capacity: Node didn't have enough capacity: memory, requested: 4718592000, capacity: 4294967296",
  },
  {
    what: "never: cpu",
    from: pod(ONE),
    to: pod({ cpu: "5", memory: "1Gi" }),
    reported:
      "infeasible capacity: Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
  },
  {
    what: "static pods",
    from: STATIC(pod(ONE)),
    to: STATIC(pod(TWO)),
    reported: "infeasible static pod: In-place resize of static-pods is not supported",
  },
  {
    what: "the gate",
    from: pod(ONE),
    to: pod(TWO),
    settings: { podScaling: false },
    reported: "infeasible feature gate: InPlacePodVerticalScaling is disabled",
  },
  { what: "the pod as a whole", from: whole(ONE), to: whole(TWO), reported: "fits" },
  {
    what: "the pod as a whole is too large",
    from: whole(ONE),
    to: whole({ cpu: "9" }),
    reported:
      "infeasible capacity: Node didn't have enough capacity: cpu, requested: 9000, capacity: 4000",
  },
  {
    what: "the gate of whole pods",
    from: whole(ONE),
    to: whole(TWO),
    settings: { podLevelScaling: false },
    reported:
      "infeasible pod-level feature gate: InPlacePodLevelResourcesVerticalScaling is disabled",
  },
  {
    what: "the gate of whole pods does not concern containers",
    from: pod(ONE),
    to: pod(TWO),
    settings: { podLevelScaling: false },
    reported: "fits",
  },
  { what: "an init container", from: withInit("1"), to: withInit("2"), reported: "fits" },
  {
    what: "the gate of init containers",
    from: withInit("1"),
    to: withInit("2"),
    settings: { initContainerScaling: false },
    reported:
      "infeasible init container feature gate: InPlacePodVerticalScalingInitContainers is disabled",
  },
  {
    what: "the gate of init containers does not concern sidecars",
    from: withInit("1", "Always"),
    to: withInit("2", "Always"),
    settings: { initContainerScaling: false },
    reported: "fits",
  },
  {
    what: "a guaranteed pod beside the static CPU manager",
    from: pod(ONE, ONE),
    to: pod(TWO, TWO),
    settings: { cpuManagerPolicy: "static" },
    reported:
      'infeasible static CPU manager: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
  },
  {
    what: "a burstable pod beside the static CPU manager",
    from: pod(ONE, TWO),
    to: pod(ONE, { cpu: "3", memory: "3Gi" }),
    settings: { cpuManagerPolicy: "static", memoryManagerPolicy: "Static" },
    reported: "fits",
  },
  {
    what: "only memory changes beside the static CPU manager",
    from: pod(ONE, ONE),
    to: pod({ cpu: "1000m", memory: "2Gi" }, { cpu: "1", memory: "2Gi" }),
    settings: { cpuManagerPolicy: "static" },
    reported: "fits",
  },
  {
    what: "a pod that has its CPUs as a whole, whatever single containers may",
    from: pod(ONE, ONE, { spec: { containers: [], resources: { requests: ONE, limits: ONE } } }),
    to: pod(ONE, ONE, { spec: { containers: [], resources: { requests: TWO, limits: TWO } } }),
    settings: { cpuManagerPolicy: "static", exclusiveCpuScaling: true, podLevelManagers: true },
    reported:
      'infeasible static CPU manager: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
  },
  {
    what: "a pod with amounts as a whole that shares",
    from: pod(ONE, ONE, { spec: { containers: [], resources: { requests: ONE, limits: ONE } } }),
    to: pod(ONE, ONE, { spec: { containers: [], resources: { requests: TWO, limits: TWO } } }),
    settings: { cpuManagerPolicy: "static", exclusiveCpuScaling: true },
    reported: "fits",
  },
  {
    what: "a guaranteed pod beside the static memory manager",
    from: pod(ONE, ONE),
    to: pod(TWO, TWO),
    settings: { memoryManagerPolicy: "Static" },
    reported:
      'infeasible static memory manager: Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
  },
  {
    what: "swap",
    from: pod(ONE, TWO),
    to: pod({ cpu: "1", memory: "1500Mi" }, TWO),
    settings: { limitedSwap: true },
    reported: "infeasible swap: In-place resize of containers with swap is not supported.",
  },
  {
    what: "swap, but the container restarts",
    from: pod(ONE, TWO, RESTARTS),
    to: pod({ cpu: "1", memory: "1500Mi" }, TWO, RESTARTS),
    settings: { limitedSwap: true },
    reported: "fits",
  },
  {
    what: "swap, but guaranteed",
    from: pod(ONE, ONE),
    to: pod(TWO, TWO),
    settings: { limitedSwap: true },
    reported: "fits",
  },
  {
    what: "swap, but only CPU changes",
    from: pod(ONE, TWO),
    to: pod({ cpu: "2", memory: "1Gi" }, TWO),
    settings: { limitedSwap: true },
    reported: "fits",
  },
];

for (const { what, from, to, others = [], settings, reported } of ROWS) {
  test(`judgeResize: ${what}`, () => {
    const inputs: ResizeInputs = {
      desired: to,
      allocated: from,
      others,
      nodeInfo: NODE_INFO,
      settings: { ...SETTINGS, ...settings },
    };
    const verdict = judgeResize(inputs);
    const text =
      verdict.kind === "fits" ? "fits" : `${verdict.kind} ${verdict.rule}: ${verdict.message}`;
    assert.equal(text, reported);
  });
}

test("orderResizes: no more first, then priority, class, and who waits longest", () => {
  const waiting = (
    name: string,
    desired: Pod,
    sinceMs?: number,
  ): WaitingResize & { name: string } => ({
    name,
    desired,
    allocated: pod(ONE, qos(desired)),
    ...(sinceMs === undefined ? {} : { sinceMs }),
  });
  const qos = ({ spec }: Pod) => (spec?.containers[0]?.resources?.limits ? ONE : undefined);
  const priority = (value: number) => ({ spec: { priority: value } as PodSpec });
  const rows = [
    waiting("new", pod(TWO)),
    waiting("late", pod(TWO), 2000),
    waiting("early", pod(TWO), 1000),
    waiting("guaranteed", pod(TWO, TWO), 3000),
    waiting("important", pod(TWO, undefined, priority(5)), 4000),
    waiting("shrinks", pod({ cpu: "500m", memory: "1Gi" }), 9000),
    waiting("shrinks one, grows the other", pod({ cpu: "500m", memory: "2Gi" }), 500),
  ];
  assert.deepEqual(
    orderResizes(rows).map(({ name }) => name),
    ["shrinks", "important", "guaranteed", "shrinks one, grows the other", "early", "late", "new"],
  );
});
