import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { Node } from "../../api/generated/types.ts";
import { Cell } from "../../kit/cell.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { exposeApiActivity, restMetrics } from "./rest-metrics.ts";
import { measureStartup } from "./startup-metrics.ts";

test("measureStartup: each part of the start, from the machine to a node that is ready, once", async () => {
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const node = new Cell<Node | undefined>(undefined);
  const boot = Math.floor(clock.wall() / 1000);
  await clock.advance(20_000);
  const startedAt = clock.wall();
  await clock.advance(1_500);
  measureStartup({ metrics, clock, startedAt, procStat: `cpu 1\nbtime ${boot}\n`, node });
  await clock.advance(500);
  const withReady = (status: string): Node => ({
    metadata: { name: "n" },
    status: { conditions: [{ type: "Ready", status }] },
  });
  node.set(withReady("False"));
  await clock.advance(3_000);
  node.set(withReady("True"));
  await clock.advance(60_000);
  node.set(withReady("True"));
  const page = metrics.expose();
  for (const [part, seconds] of [
    ["pre_registration_", 1.5],
    ["registration_", 0.5],
    ["post_registration_", 3],
  ] as const)
    assert.ok(page.includes(`\nkubelet_node_startup_${part}duration_seconds ${seconds}\n`), part);
  const whole = /^kubelet_node_startup_duration_seconds (.+)$/m.exec(page)?.[1];
  assert.equal(Math.floor(Number(whole)), 25);
  const before = /^kubelet_node_startup_pre_kubelet_duration_seconds (.+)$/m.exec(page)?.[1];
  assert.equal(Math.floor(Number(before)), 20);
});

test("restMetrics: requests by host, code and verb, with sizes, waits and repetitions", async () => {
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const observer = restMetrics({ metrics, clock }, () => "api.test:6443");
  exposeApiActivity({ metrics, clock }, undefined);
  observer.admitted("GET", 0.2);
  observer.ended({ verb: "GET", code: "200", seconds: 0.3, sent: 0, received: 900 });
  observer.ended({ verb: "POST", code: "<error>", seconds: 1, sent: 100, received: 0 });
  observer.repeated("POST", 429);
  const resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
  const handled = observer.notified(resource, 5);
  const has = (line: string) => assert.ok(metrics.expose().includes(`\n${line}\n`), line);
  const pods = '{group="",name="pods",resource="pods",version="v1"}';
  has(`informer_queued_items${pods} 5`);
  await clock.advance(2_000);
  handled();
  has(`informer_queued_items${pods} 0`);
  has(`informer_processing_latency_seconds_sum${pods} 2`);
  const get = '{host="api.test:6443",verb="GET"}';
  const post = '{host="api.test:6443",verb="POST"}';
  has('rest_client_requests_total{code="<error>",host="api.test:6443",method="POST"} 1');
  has(`rest_client_request_duration_seconds_sum${get} 0.3`);
  has(`rest_client_response_size_bytes_sum${get} 900`);
  has(`rest_client_request_size_bytes_sum${post} 100`);
  has(`rest_client_rate_limiter_duration_seconds_sum${get} 0.2`);
  has('rest_client_request_retries_total{code="429",host="api.test:6443",verb="POST"} 1');
  has("rest_client_exec_plugin_ttl_seconds +Inf");
});
