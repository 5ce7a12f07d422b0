import assert from "node:assert/strict";
import { test } from "node:test";
import { aDecision as record } from "../../../test/cli/decisions.ts";
import { NOW } from "../../../test/cli/pods.ts";
import type { DecisionInputs, DecisionKind } from "../../api/decisions.ts";
import { NODE_VECTORS } from "./node-sentences.vectors.ts";
import { describeDecision, storyOf, storyTitle } from "./why.ts";

/** One vector at least for every kind: a kind without one does not compile. */
const VECTORS: {
  readonly [K in DecisionKind]: readonly (readonly [string, DecisionInputs[K], string])[];
} = {
  admit: [["every rule agreed", { rules: 5 }, "Admitted: passed 5 checks."]],
  reject: [
    [
      "host ports",
      { reason: "NodePorts", message: "no free port." },
      'Rejected by the check "host ports" (NodePorts): no free port.',
    ],
  ],
  defer: [
    [
      "devices",
      { reason: "NoPlugin", message: "plugin not back yet" },
      'Not admitted yet, check "devices" (NoPlugin): plugin not back yet.',
    ],
  ],
  holdPod: [
    [
      "it cannot be observed",
      { problem: "container web (0123456789abc): input/output error" },
      "The runtime cannot report the pod's state, so nothing is started, stopped or removed: container web (0123456789abc): input/output error.",
    ],
  ],
  resumePod: [["it can be observed again", {}, "The runtime reports the pod's state again."]],
  preparePod: [
    ["not known to be there", { part: "cgroup" }, "Created the pod's cgroup."],
    ["not known to be there", { part: "directories" }, "Created the pod's folders."],
  ],
  mountVolumes: [
    ["not known to be there", { volumes: ["data"] }, "Mounted volume data."],
    ["not known to be there", { volumes: ["data", "keys"] }, "Mounted volumes data, keys."],
  ],
  prepareClaims: [["a sandbox is to be made", { claims: ["gpu"] }, "Prepared resource claim gpu."]],
  unprepareClaims: [
    ["the pod has ended", { claims: ["gpu", "nic"] }, "Unprepared resource claims gpu, nic."],
  ],
  delaySandbox: [
    [
      "network is not ready",
      { message: "network is not ready: no plugin" },
      "Waiting to create the pod sandbox: network is not ready: no plugin.",
    ],
  ],
  containerExited: [
    [
      "Error",
      { container: "web", restartCount: 0, exitCode: 1, reason: "Error" },
      "web exited with code 1.",
    ],
    [
      "Error",
      { container: "web", restartCount: 0, exitCode: 143, reason: "Error", message: "bye\nnow." },
      "web exited with code 143 (SIGTERM): bye now.",
    ],
    [
      "OOMKilled",
      {
        container: "web",
        restartCount: 0,
        exitCode: 137,
        reason: "OOMKilled",
        limit: "64Mi",
        limitOf: "container",
      },
      "web was OOM-killed (exit code 137): it reached the memory limit of the container (64Mi).",
    ],
    [
      "OOMKilled",
      {
        container: "web",
        restartCount: 0,
        exitCode: 137,
        reason: "OOMKilled",
        limit: "64Mi or 1Gi",
        limitOf: "container or pod",
      },
      "web was OOM-killed (exit code 137): it reached the memory limit of the container or that of the pod (64Mi or 1Gi); the kernel does not report which.",
    ],
    [
      "OOMKilled",
      { container: "web", restartCount: 0, exitCode: 137, reason: "OOMKilled" },
      "web was OOM-killed (exit code 137): the node ran out of memory, as neither container nor pod has a limit.",
    ],
  ],
  ...NODE_VECTORS,
  completePod: [
    [
      "nothing is to run again",
      { phase: "Succeeded" },
      "The pod has completed: its containers are not restarted.",
    ],
    [
      "nothing is to run again",
      { phase: "Failed" },
      "The pod has failed: its containers are not restarted.",
    ],
  ],
  adopt: [
    [
      "already running",
      { sandboxId: "s", containers: 1 },
      "Found running when the agent started: 1 container left running.",
    ],
  ],
  replace: [
    [
      "same name, another definition",
      { predecessorUid: "0123456789abcdef" },
      "Its manifest has changed: this pod (01234567…) is stopped first, then the new one starts.",
    ],
  ],
  allocateResize: [
    ["fits", { generation: 2, requests: "cpu=1 memory=1Gi" }, "Resize accepted: cpu=1 memory=1Gi."],
    ["fits", { generation: 2, requests: "" }, "Resize accepted."],
  ],
  deferResize: [
    [
      "resources",
      { generation: 2, message: "no capacity" },
      'Resize deferred by the check "resources", to be tried again: no capacity.',
    ],
  ],
  refuseResize: [
    [
      "capacity",
      { generation: 2, message: "too large" },
      'Resize is not possible on this node, check "capacity": too large.',
    ],
  ],
  resizePod: [
    ["resized", { containers: [] }, "Resized the pod's cgroup."],
    [
      "resized",
      { containers: ["web", "log"] },
      "Resized the pod's cgroup and web, log without a restart.",
    ],
  ],
  startSandbox: [
    ["no sandbox", { attempt: 0, previous: "" }, "Created the pod sandbox."],
    [
      "sandbox not ready",
      { attempt: 1, previous: "s" },
      "Created another pod sandbox: the previous one no longer runs.",
    ],
    ["something new", { attempt: 1, previous: "s" }, "Created another pod sandbox: something new."],
  ],
  startContainer: [
    ["never started", { container: "web", restartCount: 0, policy: "Always" }, "Started web."],
    [
      "restartPolicy Always",
      { container: "web", restartCount: 2, lastExitCode: 1, policy: "Always" },
      "Restarted web (restart 2): it exited with code 1, and restartPolicy is Always.",
    ],
    [
      "restartPolicyRules: exit code In [42]",
      { container: "web", restartCount: 1, lastExitCode: 42, policy: "Never" },
      "Restarted web (restart 1): it exited with code 42, and restartPolicyRules: exit code In [42].",
    ],
    [
      "sandbox is new",
      { container: "web", restartCount: 1, policy: "Always" },
      "Restarted web (restart 1): the pod sandbox is new.",
    ],
  ],
  delayRestart: [
    [
      "crash loop back-off",
      { container: "web", delayMs: 80_000, leftMs: 100 },
      "Waiting 1 min 20 s before web is restarted (CrashLoopBackOff): it keeps exiting.",
    ],
  ],
  leaveStopped: [
    [
      "restartPolicy Never",
      { container: "job", exitCode: 0, policy: "Never" },
      "job is not restarted after exit code 0: restartPolicy is Never.",
    ],
  ],
  killContainer: [
    [
      "liveness probe failed",
      { container: "web", graceSeconds: 30, detail: "Container web failed liveness probe" },
      "Stopped web: its liveness probe failed (grace period 30 seconds).",
    ],
    [
      "unheard of",
      { container: "web", graceSeconds: 1, detail: "Stopping container web" },
      "Stopped web: unheard of (grace period 1 second).",
    ],
  ],
  killPod: [
    [
      "nobody needs it",
      { graceSeconds: 5, reason: "no source names this pod" },
      "Stopping the pod (grace period 5 seconds): no source names this pod.",
    ],
  ],
  grantClaim: [
    [
      "its drivers have prepared it",
      { claim: "gpu", devices: ["gpu.example.com/node-1/gpu-0"] },
      "Resource claim gpu gives gpu.example.com/node-1/gpu-0 (its drivers have prepared it).",
    ],
    [
      "it was prepared before",
      { claim: "licence", devices: [] },
      "Resource claim licence gives no devices (it was prepared before).",
    ],
  ],
  grantCpus: [
    [
      "close together",
      { container: "db", cpus: "2-3", nodes: "0" },
      "Gave db the CPUs 2-3 for itself (close together: the hints of all resources agreed on NUMA node 0).",
    ],
    ["free", { container: "db", cpus: "2" }, "Gave db the CPUs 2 for itself (free)."],
    [
      "free",
      { container: "log", cpus: "4-5", ofPod: "2-5", shares: true },
      "Gave log the CPUs 4-5 of the pod's CPUs 2-5 to share with the pod's other containers (free).",
    ],
  ],
  releaseCpus: [
    ["the pod has ended", { cpus: "2-3" }, "The CPUs 2-3 are shared again: the pod has ended."],
  ],
  grantDevices: [
    [
      "close together",
      { container: "web", resource: "v.com/gpu", devices: ["a", "b"] },
      "Allocated v.com/gpu to web: a, b (close together).",
    ],
    [
      "free",
      { container: "web", resource: "v.com/gpu", devices: [..."abcdefghij"] },
      "Allocated v.com/gpu to web: a, b, c, d, e, f, g, h and 2 more (free).",
    ],
  ],
  releaseDevices: [
    [
      "the pod has ended",
      { devices: ["v.com/gpu a"] },
      "Released 1 device (the pod has ended): v.com/gpu a.",
    ],
  ],
  collectImage: [
    [
      "age",
      {
        goal: "periodic",
        order: "leastRecentlyUsed",
        sizeBytes: 2 ** 20,
        firstDetectedMs: 1,
        lastUsedMs: 0,
        idleMs: 3 * 3_600_000,
        usagePercent: 50,
        freedBeforeBytes: 0,
      },
      "It was removed (1 MiB): it was not used for longer than the maximum age; nothing had used it for 3h.",
    ],
    [
      "space",
      {
        goal: "periodic",
        order: "leastRecentlyUsed",
        sizeBytes: 2 ** 30,
        firstDetectedMs: 1,
        lastUsedMs: 2,
        idleMs: 60_000,
        usagePercent: 91,
        toFreeBytes: 2 ** 30,
        freedBeforeBytes: 0,
      },
      "It was removed (1 GiB): its space was asked for when 91% of the disk were used; nothing had used it for 60s.",
    ],
  ],
  evictPod: [
    [
      "uses more than it requests",
      {
        signal: "memory.available",
        resource: "memory",
        kind: "hard",
        threshold: "100Mi",
        available: "44Mi",
        graceSeconds: 1,
        pods: 4,
        priority: 0,
        requested: "64Mi",
        used: "400Mi",
        passedOver: ["kube-system/etcd"],
        next: ["default/web (uses 10Mi, requests 0, priority 0)"],
        savedByRequest: "400Mi",
        savedByPriority: 1,
      },
      "Evicting the pod (grace period 1 second): memory.available was 44Mi, below the hard threshold 100Mi. It ranked first of 4 pods (uses more than it requests): usage 400Mi, request 64Mi, priority 0. Ranked before it but not evictable: kube-system/etcd. Next in order: default/web (uses 10Mi, requests 0, priority 0). With a request of 400Mi or a priority of 1 it would not have ranked first.",
    ],
    [
      "not measured",
      {
        signal: "pid.available",
        resource: "pids",
        kind: "soft",
        threshold: "100",
        available: "7",
        graceSeconds: 30,
        pods: 1,
        priority: 5,
        requested: "0",
        passedOver: [],
        next: [],
      },
      "Evicting the pod (grace period 30 seconds): pid.available was 7, below the soft threshold 100. It ranked first of 1 pod (not measured): usage not measured, priority 5.",
    ],
  ],
  exceedStorage: [
    [
      "emptydirfs.limit",
      { what: "data", usedBytes: 40 * 2 ** 20, limitBytes: 5 * 2 ** 20, graceSeconds: 1 },
      "Evicting the pod (grace period 1 second): disk usage of volume data was 40 MiB, above the limit 5 MiB.",
    ],
    [
      "ephemeralpodfs.limit",
      { what: "", usedBytes: 40 * 2 ** 20, limitBytes: 5 * 2 ** 20, graceSeconds: 1 },
      "Evicting the pod (grace period 1 second): disk usage of the pod was 40 MiB, above the limit 5 MiB.",
    ],
  ],
  reclaimNode: [
    [
      "not enough",
      {
        signal: "nodefs.available",
        resource: "ephemeral-storage",
        steps: ["containers", "images"],
        threshold: "10Gi",
        before: "1Gi",
        after: "2Gi",
      },
      "nodefs.available was 1Gi, below the threshold 10Gi; removed dead containers and unused images, after which nodefs.available was 2Gi: not enough.",
    ],
  ],
  release: [
    ["nothing is left of it", { cause: "deleted" }, "Nothing of the pod is left on the node."],
  ],
};

for (const [kind, vectors] of Object.entries(VECTORS) as [
  DecisionKind,
  readonly [string, never, string][],
][])
  test(`\`describeDecision\` of ${kind}`, () => {
    const outcome = { kind: "done", atMs: NOW - 60_000 } as const;
    for (const [rule, inputs, expected] of vectors)
      assert.equal(describeDecision(record(kind, rule, inputs, { outcome })), expected);
    assert.notEqual(storyTitle({ kind }), "");
  });

test("`describeDecision` describes what another version decided by its rule and inputs", () => {
  const strange = record("admit", "by magic", { rules: 1 }, { kind: "teleport" as DecisionKind });
  assert.equal(describeDecision(strange), 'by magic {"rules":1}');
  assert.equal(storyTitle(strange), "teleport");
});

test("`storyOf` makes one step of what was decided again and again", () => {
  const wait = (atMs: number) =>
    record(
      "delayRestart",
      "crash loop back-off",
      { container: "web", delayMs: 10_000, leftMs: 1 },
      { atMs: NOW - 60_000 + atMs },
    );
  const admitted = record("admit", "every rule agreed", { rules: 5 });
  const again = { ...admitted, atMs: NOW };
  const steps = storyOf([admitted, wait(1), wait(2), wait(3), again]);
  assert.deepEqual(
    steps.map(({ kind, times, atMs }) => [kind, times, atMs]),
    [
      ["admit", 1, admitted.atMs],
      ["delayRestart", 3, NOW - 60_000 + 3],
      ["admit", 1, NOW],
    ],
  );
});
