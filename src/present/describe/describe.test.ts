import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGolden } from "../../../test/cli/golden.ts";
import { anEvent, anOverview } from "../../../test/cli/nodes.ts";
import { aPod, NOW, running, secondsAgo } from "../../../test/cli/pods.ts";
import type { Pod } from "../../api/generated/types.ts";
import type { ReportedSignal } from "../../subsystems/eviction/eviction.ts";
import type { RequestedSignals } from "../eviction-report.ts";
import { plainPaint } from "../text.ts";
import { describeProbe } from "./describe-container.ts";
import { describeNode } from "./describe-node.ts";
import { describePod } from "./describe-pod.ts";

const text = (lines: readonly string[]) => `${lines.join("\n")}\n`;

function fullPod(): Pod {
  const pod = aPod({
    containers: [
      running({
        restartCount: 2,
        lastState: {
          terminated: {
            exitCode: 3,
            reason: "Error",
            message: "first line\nsecond \u001b[31mline",
            startedAt: secondsAgo(120),
            finishedAt: secondsAgo(90),
          },
        },
      }),
    ],
    init: [
      running({
        name: "setup",
        state: { terminated: { exitCode: 0, reason: "Completed", finishedAt: secondsAgo(200) } },
      }),
    ],
  });
  const [container] = pod.spec?.containers ?? [];
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: [
        {
          ...container,
          name: "web",
          command: ["/bin/web", "--port=8080"],
          ports: [
            { containerPort: 8080, hostPort: 80 },
            { containerPort: 53, protocol: "UDP" },
          ],
          resources: { limits: { memory: "32Mi", cpu: "1" }, requests: { cpu: "10m" } },
          livenessProbe: { httpGet: { path: "/alive", port: "http" }, periodSeconds: 5 },
          readinessProbe: { exec: { command: ["cat", "/ready"] } },
          env: [
            { name: "MODE", value: "fast" },
            { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          ],
          volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
        },
      ],
      nodeSelector: { disk: "ssd" },
      tolerations: [
        { operator: "Exists", effect: "NoExecute" },
        { key: "gpu", value: "yes", effect: "NoSchedule" },
      ],
      volumes: [
        { name: "data", hostPath: { path: "/srv/data" } },
        { name: "tmp", emptyDir: { sizeLimit: "1Gi" } },
        { name: "claim", persistentVolumeClaim: { claimName: "c" } },
      ],
    },
  };
}

test("`describePod` of a pod with everything", () => {
  const events = [
    anEvent({ reason: "Started", message: "Container started", pod: "web-edge-1" }, 60),
    anEvent(
      {
        reason: "Unhealthy",
        message: "Readiness probe failed",
        type: "Warning",
        pod: "web-edge-1",
        count: 4,
      },
      30,
    ),
  ];
  const subject = { kind: "pod", name: "default/web-edge-1", uid: "uid-web-edge-1" } as const;
  const decisions = [
    {
      atMs: NOW - 60_000,
      sequence: 1,
      subject,
      kind: "admit",
      rule: "every rule agreed",
      inputs: { rules: 5 },
    },
  ] as const;
  assertGolden(
    "describe-pod.txt",
    text(describePod({ pod: fullPod(), events, decisions }, NOW, plainPaint)),
  );
});

test("`describePod` of a pod about which little is known", () => {
  const pod = { metadata: { name: "x", namespace: "default" }, spec: { containers: [] } };
  assertGolden(
    "describe-pod-bare.txt",
    text(describePod({ pod, events: [], decisions: [] }, NOW, plainPaint)),
  );
});

const aNode = (eviction: RequestedSignals) =>
  describeNode(
    {
      overview: anOverview(),
      pods: [fullPod(), aPod({ name: "done-edge-1", phase: "Succeeded" })],
      events: [anEvent({ reason: "Starting", message: "Starting kubelet." }, 200)],
      problems: [
        { origin: "/etc/nodelet/manifests/a.yaml", message: "spec.containers: Required value" },
      ],
      eviction,
    },
    NOW,
    plainPaint,
  );

test("`describeNode` of a node with pods, events and a broken manifest", () => {
  const signal: ReportedSignal = {
    signal: "memory.available",
    kind: "hard",
    state: "unmet",
    threshold: "100Mi",
    available: "1510Mi",
    capacity: "8Gi",
  };
  assertGolden("describe-node.txt", text(aNode({ kind: "signals", signals: [signal] })));
});

test("`describeNode` says why the eviction signals are missing", () => {
  const lines = aNode({ kind: "missing", why: "the agent does not answer" });
  const at = lines.indexOf("Eviction Signals:");
  assert.equal(lines[at + 1], "  failed to read eviction signals: the agent does not answer");
});

test("`describeProbe` names the handler and fills in the defaults", () => {
  const figures = "delay=0s timeout=1s period=10s #success=1 #failure=3";
  const vectors: readonly (readonly [Parameters<typeof describeProbe>[0], string])[] = [
    [{ exec: { command: ["a", "b"] } }, `exec [a b] ${figures}`],
    [{ httpGet: { port: 80, scheme: "HTTPS", host: "h" } }, `http-get https://h:80/ ${figures}`],
    [{ tcpSocket: { port: 5432 } }, `tcp-socket :5432 ${figures}`],
    [{ grpc: { port: 9000, service: "s" } }, `grpc <pod>:9000 s ${figures}`],
    [{}, `unknown ${figures}`],
  ];
  for (const [probe, expected] of vectors) assert.equal(describeProbe(probe), expected);
});
