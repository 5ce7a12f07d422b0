import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem } from "../decode/field-problem.ts";
import type { Node, NodeStatus, Pod, PodSpec, PodStatus } from "../generated/types.ts";
import { nodeUpdateProblems } from "./node-update.ts";
import { podStatusProblems, withAgreeingIps, withQosClass } from "./pod-status.ts";

const ENDED = (exitCode: number) => ({ terminated: { exitCode } });
const RUNS = { running: {} };

const one = (list: keyof PodStatus, state: object): PodStatus =>
  ({
    [list]: [{ name: "a", image: "i", imageID: "", ready: false, restartCount: 0, state }],
  }) as PodStatus;

const container = (more: object = {}) => ({ name: "a", image: "i", ...more });

const podOf = (spec: Partial<PodSpec>, status: PodStatus): Pod => ({
  metadata: { name: "p", namespace: "default" },
  spec: { nodeName: "n1", containers: [container()], ...spec },
  status,
});

const problemsOf = (spec: Partial<PodSpec>, before: PodStatus, now: PodStatus) =>
  podStatusProblems(podOf(spec, now), podOf(spec, before)).map(formatProblem);

test("podStatusProblems: who may leave terminated, by policy and exit code", () => {
  const refused = (list: string) => [
    `status.${list}[0].state: Forbidden: may not be transitioned to non-terminated state`,
  ];
  const restarts = (action: string) => ({
    restartPolicy: "Never",
    restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
  });
  const vectors: readonly (readonly [
    string,
    Partial<PodSpec>,
    keyof PodStatus,
    number,
    boolean,
  ])[] = [
    ["Always", { restartPolicy: "Always" }, "containerStatuses", 0, true],
    ["default", {}, "containerStatuses", 0, true],
    ["OnFailure, 0", { restartPolicy: "OnFailure" }, "containerStatuses", 0, false],
    ["OnFailure, 1", { restartPolicy: "OnFailure" }, "containerStatuses", 1, true],
    ["Never, 0", { restartPolicy: "Never" }, "containerStatuses", 0, false],
    ["Never, 1", { restartPolicy: "Never" }, "containerStatuses", 1, false],
    [
      "own policy before the pod's",
      { restartPolicy: "Never", containers: [container({ restartPolicy: "Always" })] },
      "containerStatuses",
      1,
      true,
    ],
    ["rule, 42", { containers: [container(restarts("Restart"))] }, "containerStatuses", 42, true],
    ["rule, 41", { containers: [container(restarts("Restart"))] }, "containerStatuses", 41, false],
    [
      "a rule for all, in another container",
      {
        restartPolicy: "Never",
        containers: [container(), container({ name: "b", ...restarts("RestartAllContainers") })],
      },
      "containerStatuses",
      1,
      true,
    ],
    [
      "init container, Never",
      { restartPolicy: "Never", initContainers: [container()] },
      "initContainerStatuses",
      0,
      false,
    ],
    [
      "sidecar, Never",
      { restartPolicy: "Never", initContainers: [container({ restartPolicy: "Always" })] },
      "initContainerStatuses",
      0,
      true,
    ],
    [
      "ephemeral container, Always",
      { restartPolicy: "Always", ephemeralContainers: [container()] },
      "ephemeralContainerStatuses",
      1,
      false,
    ],
  ];
  for (const [name, spec, list, exitCode, isAllowed] of vectors) {
    const expected = isAllowed ? [] : refused(list);
    for (const state of [RUNS, { waiting: { reason: "ContainerCreating" } }])
      assert.deepEqual(
        problemsOf(spec, one(list, ENDED(exitCode)), one(list, state)),
        expected,
        name,
      );
    assert.deepEqual(problemsOf(spec, one(list, ENDED(exitCode)), one(list, ENDED(3))), [], name);
    assert.deepEqual(problemsOf(spec, one(list, RUNS), one(list, RUNS)), [], name);
    assert.deepEqual(problemsOf(spec, one(list, ENDED(exitCode)), {}), [], `${name}: left out`);
  }
});

test("podStatusProblems: each other rule bites, and lets pass what keeps it", () => {
  const family = /may specify no more than one IP for each IP family/;
  const devices = (name: string, ...resources: readonly object[]) =>
    ({
      containerStatuses: [{ name: "a", allocatedResourcesStatus: [{ name, resources }] }],
    }) as unknown as PodStatus;
  const asking = [
    container({ resources: { requests: { "x.y/gpu": "1" }, claims: [{ name: "c" }] } }),
  ];
  const healthy = { resourceID: "1", health: "Healthy" };
  const user = (uid: number) =>
    ({
      containerStatuses: [{ name: "a", user: { linux: { uid, gid: 0 } } }],
    }) as unknown as PodStatus;
  const vectors: readonly (readonly [
    Partial<PodSpec>,
    PodStatus,
    PodStatus,
    RegExp | undefined,
  ])[] = [
    [{}, { qosClass: "Burstable" }, { qosClass: "BestEffort" }, /status\.qosClass: .*immutable/],
    [{}, {}, { qosClass: "BestEffort" }, undefined],
    [{}, {}, { nominatedNodeName: "n2" }, /nominatedNodeName: Forbidden: may not be set on pods/],
    [{}, { nominatedNodeName: "n2" }, { nominatedNodeName: "n2" }, undefined],
    [{}, {}, { observedGeneration: -1 }, /status\.observedGeneration: .*non-negative integer/],
    [
      {},
      {},
      { conditions: [{ type: "Ready", status: "True", observedGeneration: -1 }] },
      /status\.conditions\[0\]\.observedGeneration/,
    ],
    [{}, {}, { conditions: [{ type: "not a name", status: "True" }] }, /conditions\[0\]\.Type/],
    [{}, {}, { conditions: [{ type: "example.com/gate", status: "True" }] }, undefined],
    [{}, {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] }, family],
    [{}, {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }, undefined],
    [{}, {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }, { ip: "fd00::2" }] }, family],
    [{}, {}, { podIPs: [{ ip: "10.0.0.256" }] }, /status\.podIPs\[0\]: .*valid IP address/],
    [{}, { podIPs: [{ ip: "bad" }] }, { podIPs: [{ ip: "bad" }] }, undefined],
    [{}, {}, { hostIP: "10.0.0.2", hostIPs: [{ ip: "10.0.0.1" }] }, /must be equal to `hostIP`/],
    [{}, {}, { hostIP: "10.0.0.1", hostIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] }, family],
    [{}, {}, { resourceClaimStatuses: [{ name: "c" }] }, /must match the name of an entry/],
    [
      { resourceClaims: [{ name: "c" }] },
      {},
      { resourceClaimStatuses: [{ name: "c" }, { name: "c" }] },
      /resourceClaimStatuses\[1\]\.name: Duplicate value: "c"/,
    ],
    [{ containers: asking }, {}, devices("x.y/gpu", healthy), undefined],
    [{ containers: asking }, {}, devices("claim:c", healthy), undefined],
    [
      { containers: asking },
      {},
      devices("x.y/fpga", healthy),
      /one of the container's resource req/,
    ],
    [{ containers: asking }, {}, devices("claim:d", healthy), /one of the container's resource cl/],
    [{ containers: asking }, {}, devices("x.y/gpu", healthy, healthy), /resourceID: Duplicate/],
    [
      { containers: asking },
      {},
      devices("x.y/gpu", { resourceID: "1" }),
      /health: Unsupported value/,
    ],
    [{}, {}, user(-1), /status\.containerStatuses\[0\]\.user\.linux\.uid/],
    [{}, {}, user(65_534), undefined],
    [{}, {}, one("containerStatuses", RUNS), undefined],
    [{ containers: [container({ name: "b" })] }, {}, one("containerStatuses", RUNS), undefined],
  ];
  for (const [spec, before, now, expected] of vectors) {
    const problems = problemsOf(spec, before, now);
    const reported = `${JSON.stringify(now)}: ${problems}`;
    if (expected) assert.match(problems.join(), expected, reported);
    else assert.deepEqual(problems, [], reported);
  }
  const moved = podStatusProblems(podOf({ nodeName: "n2" }, {}), podOf({}, {}));
  assert.deepEqual(moved.map(formatProblem), [
    "status.nodeName: Forbidden: may not be changed directly",
  ]);
});

/** Addresses as written, and as they are kept. */
const ADDRESSES: readonly (readonly [PodStatus, PodStatus])[] = [
  [{}, {}],
  [{ podIP: "10.0.0.1" }, { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] }],
  [{ podIPs: [{ ip: "10.0.0.1" }] }, { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] }],
  [
    { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
    { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
  ],
  [
    { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
    { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }] },
  ],
];
for (const [written, kept] of ADDRESSES)
  test(`withAgreeingIps: ${JSON.stringify(written)}`, () =>
    assert.deepEqual(withAgreeingIps(podOf({}, written)).status, kept));

test("withQosClass: a status that leaves the class out keeps it", () => {
  const before = podOf({}, { qosClass: "Burstable" });
  assert.equal(withQosClass(podOf({}, { phase: "Failed" }), before).status?.qosClass, "Burstable");
  assert.equal(
    withQosClass(podOf({}, { qosClass: "BestEffort" }), before).status?.qosClass,
    "BestEffort",
  );
});

test("nodeUpdateProblems: each rule bites, and lets pass what keeps it", () => {
  const status = (more: NodeStatus): Node => ({ metadata: { name: "n" }, status: more });
  const spec = (more: Node["spec"]): Node => ({
    metadata: { name: "n" },
    ...(more ? { spec: more } : {}),
  });
  const taint = { key: "a", effect: "NoSchedule" };
  const address = { type: "InternalIP", address: "10.0.0.1" };
  const vectors: readonly (readonly [Node, Node, RegExp | undefined])[] = [
    [spec({}), spec({ providerID: "x://1" }), undefined],
    [spec({ providerID: "x://1" }), spec({ providerID: "x://2" }), /spec\.providerID: Forbidden/],
    [spec({}), spec({ podCIDRs: ["10.0.0.0/24"] }), undefined],
    [
      spec({ podCIDRs: ["10.0.0.0/24"] }),
      spec({}),
      /spec\.podCIDRs: Forbidden: node updates may not/,
    ],
    [spec({}), spec({ taints: [taint, taint] }), /taints must be unique by key and effect pair/],
    [spec({}), spec({ taints: [taint, { ...taint, effect: "NoExecute" }] }), undefined],
    [spec({}), spec({ taints: [{ key: "a", effect: "Sometimes" }] }), /effect: Unsupported value/],
    [status({}), status({ declaredFeatures: ["A", "B1", "B1/Sub"] }), undefined],
    [status({}), status({ declaredFeatures: ["B", "A"] }), /list must be sorted alphabetically/],
    [
      status({}),
      status({ declaredFeatures: ["A", "A"] }),
      /declaredFeatures\[1\]: Duplicate value/,
    ],
    [
      status({}),
      status({ declaredFeatures: ["a-b"] }),
      /must start with an UpperCamelCase segment/,
    ],
    [status({}), status({ addresses: [address, { ...address, type: "Hostname" }] }), undefined],
    [
      status({}),
      status({ addresses: [address, address] }),
      /status\.addresses\[1\]: Duplicate value/,
    ],
    [status({}), status({ capacity: { "x.y/gpu": "2", cpu: "1500m" } }), undefined],
    [status({}), status({ capacity: { "x.y/gpu": "1500m" } }), /capacity\.x\.y\/gpu: .*an integer/],
    [status({}), status({ allocatable: { memory: "-1" } }), /greater than or equal to 0/],
  ];
  for (const [before, now, expected] of vectors) {
    const problems = nodeUpdateProblems(now, before).map(formatProblem);
    const reported = `${JSON.stringify(now)}: ${problems}`;
    if (expected) assert.match(problems.join(), expected, reported);
    else assert.deepEqual(problems, [], reported);
  }
});
