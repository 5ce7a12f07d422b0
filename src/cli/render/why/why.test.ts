import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGolden } from "../../../../test/cli/golden.ts";
import { anEvent } from "../../../../test/cli/nodes.ts";
import { aPod, NOW } from "../../../../test/cli/pods.ts";
import type { DecisionInputs, DecisionKind, DecisionRecord } from "../../../api/decisions.ts";
import { plainPaint } from "../text.ts";
import { renderStory } from "./story.ts";
import { storyOf, storyTitle, tellDecision } from "./why.ts";

function record<K extends DecisionKind>(
  kind: K,
  rule: string,
  inputs: DecisionInputs[K],
  changes: Partial<DecisionRecord> = {},
): DecisionRecord {
  return {
    atMs: NOW - 60_000,
    sequence: 1,
    subject: { kind: "pod", name: "default/web-edge-1", uid: "uid-web-edge-1" },
    kind,
    rule,
    inputs: { ...inputs },
    ...changes,
  };
}

/** One vector at least for every kind: a kind without one does not compile. */
const VECTORS: {
  readonly [K in DecisionKind]: readonly (readonly [string, DecisionInputs[K], string])[];
} = {
  admit: [["every rule agreed", { rules: 5 }, "It may run here: 5 rules asked, none against it."]],
  reject: [
    [
      "host ports",
      { reason: "NodePorts", message: "no free port." },
      'It may not run here (NodePorts, rule "host ports"): no free port.',
    ],
  ],
  defer: [
    [
      "devices",
      { reason: "NoPlugin", message: "plugin not back yet" },
      'It has to wait and is asked again (NoPlugin, rule "devices"): plugin not back yet.',
    ],
  ],
  holdPod: [
    [
      "it cannot be observed",
      { problem: "container web (0123456789abc): input/output error" },
      "What runs of it cannot be read, so that nothing is started, ended or removed: container web (0123456789abc): input/output error.",
    ],
  ],
  resumePod: [
    ["it can be observed again", {}, "What runs of it can be read again: work on it goes on."],
  ],
  adopt: [
    [
      "already running",
      { sandboxId: "s", containers: 1 },
      "It was running when the agent began: 1 container taken over untouched.",
    ],
  ],
  replace: [
    [
      "same name, another definition",
      { predecessorUid: "0123456789abcdef" },
      "Its definition has changed: the pod that runs (01234567…) is ended first, then the new one starts.",
    ],
  ],
  allocateResize: [
    [
      "fits",
      { generation: 2, requests: "cpu=1 memory=1Gi" },
      "It was given the resources that were asked for: cpu=1 memory=1Gi.",
    ],
    ["fits", { generation: 2, requests: "" }, "It was given the resources that were asked for."],
  ],
  deferResize: [
    [
      "resources",
      { generation: 2, message: "no room" },
      'The resources that were asked for are not to be had now (rule "resources"), and are asked for again: no room.',
    ],
  ],
  refuseResize: [
    [
      "capacity",
      { generation: 2, message: "too large" },
      'The resources that were asked for can never be had here (rule "capacity"): too large.',
    ],
  ],
  resizePod: [
    ["resized", { containers: [] }, "Its control group gets the new resources."],
    [
      "resized",
      { containers: ["web", "log"] },
      "Its control group and web, log get the new resources as they run.",
    ],
  ],
  startSandbox: [
    [
      "no sandbox",
      { attempt: 0, previous: "" },
      "Its sandbox is made, which holds its network and namespaces.",
    ],
    [
      "sandbox not ready",
      { attempt: 1, previous: "s" },
      "A new sandbox is made (number 2), because the one it had does not run any more.",
    ],
    [
      "something new",
      { attempt: 1, previous: "s" },
      "A new sandbox is made (number 2), because something new.",
    ],
  ],
  startContainer: [
    [
      "never started",
      { container: "web", restartCount: 0, policy: "Always" },
      "web is started for the first time.",
    ],
    [
      "restartPolicy Always",
      { container: "web", restartCount: 2, lastExitCode: 1, policy: "Always" },
      "web is started again (restart 2): it ended with code 1, and restartPolicy Always wants it.",
    ],
    [
      "restartPolicyRules: exit code In [42]",
      { container: "web", restartCount: 1, lastExitCode: 42, policy: "Never" },
      "web is started again (restart 1): it ended with code 42, and restartPolicyRules: exit code In [42].",
    ],
    [
      "sandbox is new",
      { container: "web", restartCount: 1, policy: "Always" },
      "web is started again (restart 1): sandbox is new.",
    ],
  ],
  delayRestart: [
    [
      "crash loop back-off",
      { container: "web", delayMs: 80_000, leftMs: 100 },
      "web is not restarted at once: it ended again and again, so 1 min 20 s pass between its end and the next start.",
    ],
  ],
  leaveStopped: [
    [
      "restartPolicy Never",
      { container: "job", exitCode: 0, policy: "Never" },
      "job ended with code 0 and stays so, as restartPolicy Never wants it.",
    ],
  ],
  killContainer: [
    [
      "liveness probe failed",
      { container: "web", graceSeconds: 30, detail: "Container web failed liveness probe" },
      "web is ended, with 30 seconds to finish: its liveness probe failed too often.",
    ],
    [
      "unheard of",
      { container: "web", graceSeconds: 1, detail: "Stopping container web" },
      "web is ended, with 1 second to finish: unheard of.",
    ],
  ],
  killPod: [
    [
      "nobody wants it",
      { graceSeconds: 5, reason: "no source names this pod" },
      "The pod is ended, with 5 seconds to finish: no source names this pod.",
    ],
  ],
  grantDevices: [
    [
      "close together",
      { container: "web", resource: "v.com/gpu", devices: ["a", "b"] },
      "web gets of v.com/gpu: a, b (close together).",
    ],
    [
      "free",
      { container: "web", resource: "v.com/gpu", devices: [..."abcdefghij"] },
      "web gets of v.com/gpu: a, b, c, d, e, f, g, h and 2 more (free).",
    ],
  ],
  releaseDevices: [
    [
      "the pod has ended",
      { devices: ["v.com/gpu a"] },
      "It has given back 1 device (the pod has ended): v.com/gpu a.",
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
      "The pod is evicted, with 1 second to finish: 44Mi of memory.available were left, less than the hard threshold 100Mi. Of 4 pods it was the first that may go (uses more than it requests): it used 400Mi and requested 64Mi, its priority is 0. Before it stood, and may not go: kube-system/etcd. After it came: default/web (uses 10Mi, requests 0, priority 0). Another pod would have gone with a request of 400Mi or a priority of 1.",
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
      "The pod is evicted, with 30 seconds to finish: 7 of pid.available were left, less than the soft threshold 100. Of 1 pod it was the first that may go (not measured): nothing of it could be measured, its priority is 5.",
    ],
  ],
  exceedStorage: [
    [
      "emptydirfs.limit",
      { what: "data", usedBytes: 40 * 2 ** 20, limitBytes: 5 * 2 ** 20, graceSeconds: 1 },
      "The pod is evicted, with 1 second to finish: its volume data takes 40 MiB of the node's disk, and its limit is 5 MiB.",
    ],
    [
      "ephemeralpodfs.limit",
      { what: "", usedBytes: 40 * 2 ** 20, limitBytes: 5 * 2 ** 20, graceSeconds: 1 },
      "The pod is evicted, with 1 second to finish: it takes 40 MiB of the node's disk, and its limit is 5 MiB.",
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
      "Of nodefs.available 1Gi were left, less than 10Gi: containers that had ended, images that nothing used were removed, and 2Gi were left then, which was not enough.",
    ],
  ],
  release: [
    [
      "nothing is left of it",
      { cause: "deleted" },
      "Nothing of it is left on the node (its manifest was taken away).",
    ],
  ],
};

for (const [kind, vectors] of Object.entries(VECTORS) as [
  DecisionKind,
  readonly [string, never, string][],
][])
  test(`\`tellDecision\` of ${kind}`, () => {
    for (const [rule, inputs, expected] of vectors)
      assert.equal(tellDecision(record(kind, rule, inputs)), expected);
    assert.notEqual(storyTitle(kind), "");
  });

test("`tellDecision` tells what another version decided by its rule and inputs", () => {
  const strange = record("admit", "by magic", { rules: 1 }, { kind: "teleport" as DecisionKind });
  assert.equal(tellDecision(strange), 'by magic {"rules":1}');
  assert.equal(storyTitle("teleport"), "teleport");
});

test("`storyOf` makes one step of what was decided again and again", () => {
  const wait = (atMs: number) =>
    record(
      "delayRestart",
      "crash loop back-off",
      { container: "web", delayMs: 10_000, leftMs: 1 },
      { atMs },
    );
  const admitted = record("admit", "every rule agreed", { rules: 5 });
  const steps = storyOf([admitted, wait(1), wait(2), wait(3), admitted]);
  assert.deepEqual(
    steps.map(({ kind, times, atMs }) => [kind, times, atMs]),
    [
      ["admit", 1, admitted.atMs],
      ["delayRestart", 3, 3],
      ["admit", 1, admitted.atMs],
    ],
  );
});

test("`renderStory` tells decisions and warnings in order, days, and other pods of the name", () => {
  const earlier = { kind: "pod", name: "default/web-edge-1", uid: "uid-before" } as const;
  const steps = storyOf([
    record("admit", "", { rules: 5 }, { atMs: NOW - 30 * 3600_000, subject: earlier }),
    record("release", "", { cause: "deleted" }, { atMs: NOW - 29 * 3600_000, subject: earlier }),
    record("admit", "", { rules: 5 }, { atMs: NOW - 60_000 }),
    record(
      "startContainer",
      "never started",
      { container: "web", restartCount: 0, policy: "Always" },
      { atMs: NOW - 50_000 },
    ),
  ]);
  const warnings = [
    anEvent(
      {
        reason: "Unhealthy",
        message: "Readiness probe failed: connection refused",
        type: "Warning",
        pod: "web-edge-1",
        count: 3,
      },
      55,
    ),
  ];
  const story = { name: "default/web-edge-1", steps, warnings, pod: aPod() };
  const lines = renderStory(story, { now: NOW, columns: 70, paint: plainPaint });
  assertGolden("story.txt", `${lines.join("\n")}\n`);
});
