import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aContainer, aPod, aRecord } from "../../../test/support/pods.ts";
import { makeDecision } from "../../api/decisions.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import type { ActedPod } from "../pods/ports.ts";
import { measurePort } from "./measure-port.ts";
import { requestedChanges } from "./requested-changes.ts";

type PodAction = ActedPod["action"];
type ActionOutcome = ActedPod["outcome"];

const DONE: ActionOutcome = { kind: "done" };
const FAILED: ActionOutcome = { kind: "failed", reason: "ErrImagePull", message: "", retryInMs: 0 };
const decision = makeDecision("killPod", "any", { graceSeconds: 1, reason: "" });
const SANDBOX: PodAction = { kind: "createSandbox", attempt: 0, decision };
const RESIZE: PodAction = { kind: "resizePod", containers: [], decision };
const start = (containerKind: "regular" | "init" | "ephemeral", name = "a"): PodAction => ({
  kind: "startContainer",
  name,
  containerKind,
  restartCount: 0,
  sandboxId: undefined,
  backoff: undefined,
  decision,
});

function world() {
  const metrics = new MetricsRegistry();
  const clock = new SimClock();
  const port = measurePort({ metrics, clock });
  const acted = (action: PodAction, outcome: ActionOutcome, pod = aPod()) =>
    port.acted({ record: aRecord({ pod }), action, outcome, tookMs: 70 });
  const has = (line: string) => assert.ok(metrics.expose().includes(`\n${line}\n`), line);
  return { clock, port, acted, has };
}

test("sandboxes are counted, those with users of their own too", () => {
  const { acted, has } = world();
  acted(SANDBOX, DONE);
  acted(SANDBOX, FAILED);
  acted(SANDBOX, FAILED, aPod({ hostUsers: false }));
  has("kubelet_started_pods_total 3");
  has("kubelet_started_pods_errors_total 2");
  has("kubelet_started_user_namespaced_pods_total 1");
  has("kubelet_started_user_namespaced_pods_errors_total 1");
});

test("a pod with users of its own whose containers cannot be created counts as failed, once for each sandbox", () => {
  const { acted, has, port } = world();
  const pod = aPod({ hostUsers: false });
  const errors = (count: number) =>
    has(`kubelet_started_user_namespaced_pods_errors_total ${count}`);
  acted(SANDBOX, DONE, pod);
  acted(start("regular"), DONE, pod);
  acted(start("regular", "b"), FAILED, pod);
  errors(1);
  acted(start("regular", "b"), FAILED, pod);
  acted(start("regular", "c"), FAILED, pod);
  errors(1);
  acted(SANDBOX, DONE, pod);
  acted(start("regular"), DONE, pod);
  acted(start("regular"), FAILED, pod);
  errors(1);
  acted(start("init", "b"), FAILED, pod);
  errors(2);
  acted(SANDBOX, DONE, pod);
  const cause = { kind: "deleted" } as const;
  port.worked(aRecord({ pod }, { life: { kind: "terminated", cause } }), 1);
  acted(start("regular"), FAILED, pod);
  acted(SANDBOX, DONE);
  acted(start("regular"), FAILED);
  errors(2);
  has("kubelet_started_user_namespaced_pods_total 3");
});

test("pods that come back are shown by origin before there are any", () => {
  const { has } = world();
  has('kubelet_restarted_pods_total{static=""} 0');
  has('kubelet_restarted_pods_total{static="true"} 0');
});

test("containers are counted by kind, failures by the reason of the status", () => {
  const { acted, has } = world();
  for (const kind of ["regular", "init", "ephemeral"] as const) acted(start(kind), DONE);
  acted(start("regular"), FAILED);
  acted(start("regular"), { kind: "abandoned" });
  has('kubelet_started_containers_total{container_type="container"} 3');
  has('kubelet_started_containers_total{container_type="init_container"} 1');
  has('kubelet_started_containers_total{container_type="ephemeral_container"} 1');
  has('kubelet_started_containers_errors_total{code="ErrImagePull",container_type="container"} 1');
});

test("work on a pod is timed by what it is for, and the first of it from when the pod was seen", async () => {
  const { clock, port, has } = world();
  const prerequisites = { directories: "absent", cgroup: "absent", volumes: "absent" } as const;
  const startedAt = clock.wall();
  await clock.advance(1_500);
  const pod = aPod();
  const fresh = aRecord({ pod, sandboxes: [], containers: [] }, { prerequisites, startedAt });
  port.worked(fresh, 500);
  port.worked(aRecord(), 20);
  const cause = { kind: "deleted" } as const;
  port.worked(aRecord({}, { life: { kind: "terminated", cause } }), 20);
  has('kubelet_pod_worker_duration_seconds_sum{operation_type="create"} 0.5');
  has('kubelet_pod_worker_duration_seconds_count{operation_type="sync"} 1');
  has('kubelet_pod_worker_duration_seconds_count{operation_type="kill"} 1');
  has("kubelet_pod_worker_start_duration_seconds_sum 1");
  has("kubelet_pod_worker_start_duration_seconds_count 1");
});

test("orphans, pods that come back, and resizes are counted", () => {
  const { acted, port, has } = world();
  port.orphaned();
  port.recreated(aRecord());
  acted(RESIZE, DONE);
  acted(RESIZE, FAILED);
  acted(RESIZE, { kind: "abandoned" });
  port.resizeRefused("node capacity");
  port.resizeAccepted("periodic_retry");
  has("kubelet_orphaned_runtime_pods_total 1");
  has('kubelet_restarted_pods_total{static="true"} 1');
  has('kubelet_pod_resize_duration_milliseconds_sum{success="true"} 70');
  has('kubelet_pod_resize_duration_milliseconds_count{success="false"} 1');
  has('kubelet_pod_infeasible_resizes_total{reason_detail="node capacity"} 1');
  has('kubelet_pod_deferred_accepted_resizes_total{retry_trigger="periodic_retry"} 1');
});

test("requestedChanges names every amount that is to be another", () => {
  const resources = {
    requests: { cpu: "1", memory: "1Gi" },
    limits: { cpu: "2", memory: "1Gi" },
  };
  const pod = aPod({ containers: [aContainer("a", { resources }), aContainer("b")] });
  const wanted = {
    containers: {
      a: { requests: { cpu: "500m", memory: "1024Mi" }, limits: { cpu: "3" } },
      b: { requests: { cpu: "1" } },
    },
  };
  const changes = requestedChanges(pod, wanted).map((each) => Object.values(each).join(" "));
  assert.deepEqual(changes, [
    "cpu requests decrease",
    "cpu limits increase",
    "memory limits remove",
    "cpu requests add",
  ]);
});
