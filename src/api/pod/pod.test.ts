import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, ContainerRestartRule, Pod } from "../generated/types.ts";
import {
  allContainers,
  containerFieldPath,
  effectiveRestartPolicy,
  findContainer,
  isCriticalPod,
  isMirrorPod,
  isNodeCriticalPod,
  isStaticPod,
  isTerminalPhase,
  podDescription,
  podFullName,
  restartVerdict,
  sidecarsOf,
} from "./pod.ts";

const pod: Pod = {
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: {
    containers: [{ name: "main" }, { name: "" }],
    initContainers: [{ name: "setup" }, { name: "proxy", restartPolicy: "Always" }],
    ephemeralContainers: [{ name: "debug" }],
  },
};
const annotated = (annotations: Record<string, string>, spec: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { name: "p", annotations },
  spec: { containers: [], ...spec },
});

test("isStaticPod, isMirrorPod, isCriticalPod: by annotation and priority", () => {
  assert.equal(isStaticPod(pod), false);
  assert.equal(isStaticPod(annotated({ "kubernetes.io/config.source": "api" })), false);
  assert.equal(isStaticPod(annotated({ "kubernetes.io/config.source": "file" })), true);
  assert.equal(isMirrorPod(annotated({ "kubernetes.io/config.mirror": "h" })), true);
  assert.equal(isMirrorPod(pod), false);
  assert.equal(isCriticalPod(pod), false);
  assert.equal(isCriticalPod(annotated({}, { priority: 1_999_999_999 })), false);
  assert.equal(isCriticalPod(annotated({}, { priority: 2_000_000_000 })), true);
  assert.equal(isCriticalPod(annotated({ "kubernetes.io/config.source": "http" })), true);
  const nodeCritical = { priority: 2_000_001_000, priorityClassName: "system-node-critical" };
  assert.equal(isNodeCriticalPod(annotated({}, nodeCritical)), true);
  assert.equal(isNodeCriticalPod(annotated({}, { priority: 2_000_001_000 })), false);
});

test("allContainers, containerFieldPath: start order and event paths", () => {
  assert.deepEqual(allContainers(pod).map(containerFieldPath), [
    "spec.initContainers{setup}",
    "spec.initContainers{proxy}",
    "spec.containers{main}",
    "spec.containers[1]",
    "spec.ephemeralContainers{debug}",
  ]);
  assert.equal(findContainer(pod, "debug")?.kind, "ephemeral");
  assert.equal(findContainer(pod, "none"), undefined);
  assert.deepEqual(
    sidecarsOf(pod).map(({ name }) => name),
    ["proxy"],
  );
  assert.deepEqual(allContainers({}), []);
});

test("podFullName, podDescription", () => {
  assert.equal(podFullName(pod), "web_shop");
  assert.equal(podDescription(pod), "web_shop(u1)");
});

const rule = (action: string, operator: string, ...values: number[]): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values },
});

test("restartVerdict: rules, then the container's policy, then the pod's", () => {
  const table: readonly [string, string | undefined, Partial<Container>, number, string][] = [
    ["pod default", undefined, {}, 0, "restart"],
    ["pod Never", "Never", {}, 1, "stay"],
    ["pod OnFailure, ok", "OnFailure", {}, 0, "stay"],
    ["pod OnFailure, failed", "OnFailure", {}, 3, "restart"],
    ["container beats pod", "Never", { restartPolicy: "Always" }, 0, "restart"],
    ["container Never", "Always", { restartPolicy: "Never" }, 1, "stay"],
    [
      "rule In",
      "Never",
      { restartPolicy: "Never", restartPolicyRules: [rule("Restart", "In", 42, 43)] },
      43,
      "restart",
    ],
    [
      "rule In, other code",
      "Never",
      { restartPolicy: "Never", restartPolicyRules: [rule("Restart", "In", 42)] },
      1,
      "stay",
    ],
    [
      "rule NotIn",
      "Never",
      { restartPolicy: "Never", restartPolicyRules: [rule("Restart", "NotIn", 0)] },
      7,
      "restart",
    ],
    [
      "first matching rule wins",
      "Never",
      {
        restartPolicy: "Never",
        restartPolicyRules: [rule("RestartAllContainers", "In", 9), rule("Restart", "In", 9)],
      },
      9,
      "restartAllContainers",
    ],
    [
      "rules without own policy are ignored",
      "Never",
      { restartPolicyRules: [rule("Restart", "In", 9)] },
      9,
      "stay",
    ],
  ];
  for (const [name, podPolicy, container, exitCode, expected] of table) {
    const spec = podPolicy === undefined ? {} : { restartPolicy: podPolicy };
    const verdict = restartVerdict(annotated({}, spec), container, exitCode);
    assert.equal(verdict, expected, name);
  }
  assert.equal(effectiveRestartPolicy(annotated({}, { restartPolicy: "Sometimes" }), {}), "Always");
});

test("isTerminalPhase", () => {
  assert.deepEqual(["Pending", "Running", "Succeeded", "Failed", undefined].map(isTerminalPhase), [
    false,
    false,
    true,
    true,
    false,
  ]);
});
