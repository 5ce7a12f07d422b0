import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { ServiceError } from "@grpc/grpc-js";
import { PodsApiClient } from "../../../test/support/pods-api-client.ts";
import type { Pod, PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { Cell } from "../../kit/cell.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { TaskScope } from "../../kit/scope.ts";
import { connectGrpc } from "../../outside/grpc/grpc.ts";
import type { NamedPods } from "./pod-watchers.ts";
import { startPodsApi } from "./pods-api.ts";
import type { NamedPod } from "./served-pods.ts";

const clock = createSystemClock();

/** Pods of sources, as the test says. */
class TestPods implements NamedPods {
  readonly #pods = new Map<string, NamedPod>();
  readonly #listeners = new Set<(uid: PodUid) => void>();

  list(): readonly NamedPod[] {
    return [...this.#pods.values()];
  }

  get(uid: string): NamedPod | undefined {
    return this.#pods.get(uid);
  }

  subscribe(onChange: (uid: PodUid) => void): () => void {
    this.#listeners.add(onChange);
    return () => void this.#listeners.delete(onChange);
  }

  set(uid: string, status?: PodStatus, more: Partial<Pod> = {}): void {
    const metadata = { name: `pod-${uid}`, namespace: "default", uid: uid as PodUid };
    this.#pods.set(uid, { pod: { ...more, metadata }, status });
    for (const listener of this.#listeners) listener(uid as PodUid);
  }

  delete(uid: string): void {
    this.#pods.delete(uid);
    for (const listener of this.#listeners) listener(uid as PodUid);
  }
}

let folder: string;
let scope: TaskScope;
let pods: TestPods;
let seen: Cell<boolean>;
let metrics: MetricsRegistry;
let client: PodsApiClient;
const clients: PodsApiClient[] = [];

function connect(): PodsApiClient {
  const made = new PodsApiClient(`${folder}/api/pods-api.sock`);
  clients.push(made);
  return made;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "pods-api-"));
  scope = new TaskScope("pods API", { clock, log: silentLog });
  pods = new TestPods();
  seen = new Cell(true);
  metrics = new MetricsRegistry();
  const makeDirectory = async (path: string) => void (await mkdir(path, { recursive: true }));
  startPodsApi(`${folder}/api`, {
    grpc: connectGrpc(),
    files: { makeDirectory },
    clock,
    log: silentLog,
    scope,
    metrics,
    pods,
    seen,
  });
  client = connect();
  await client.ready();
});

afterEach(async () => {
  for (const each of clients.splice(0)) each.close();
  await scope[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const shown = (uid: string, phase: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `pod-${uid}`, namespace: "default", uid },
  status: { phase },
});

const counted = (name: string) =>
  metrics
    .expose()
    .split("\n")
    .filter(
      (line) => line.startsWith(`kubelet_pod_${name}{`) || line.startsWith(`kubelet_pod_${name} `),
    )
    .map((line) => line.replace(/.*status_code="(\w+)"\} /, "$1 "));

async function until(test: () => boolean): Promise<void> {
  for (let i = 0; i < 1_000 && !test(); i += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(test());
}

test("pods API: root's socket; nothing is said before all sources were seen", async () => {
  assert.equal(statSync(`${folder}/api/pods-api.sock`).mode & 0o777, 0o600);
  seen.set(false);
  const refusal = { code: 9, details: "Kubelet is initializing" };
  await assert.rejects(client.list(), refusal);
  await assert.rejects(client.get("a"), refusal);
  await assert.rejects(client.watch().read(1), refusal);
  assert.deepEqual(counted("requests_total"), ["FailedPrecondition 3"]);
  seen.set(true);
  assert.deepEqual(await client.list(), []);
});

test("pods API: lists by UID, gets one, and says which it does not have", async () => {
  pods.set("b", { phase: "Running" });
  pods.set("a");
  assert.deepEqual(await client.list(), [shown("a", "Pending"), shown("b", "Running")]);
  assert.deepEqual(await client.get("b"), shown("b", "Running"));
  await assert.rejects(client.get("c"), { code: 5, details: "pod with UID c not found" });
  pods.set("b", { phase: 1 } as unknown as PodStatus);
  const failed = { code: 13, details: "failed to marshal pod: 1 is no text" };
  await assert.rejects(client.get("b"), failed);
  await assert.rejects(client.list(), failed);
  assert.deepEqual(counted("requests_get_total"), ["OK 1", "NotFound 1", "Internal 1"]);
  assert.deepEqual(counted("requests_list_total"), ["OK 1", "Internal 1"]);
  assert.match(
    metrics.expose(),
    /kubelet_pod_requests_total\{server_api_version="v1alpha1",status_code="OK"\} 2/,
  );
});

test("pods API: a watch begins with all pods, and then says what changes", async () => {
  pods.set("b", { phase: "Running" });
  pods.set("a");
  const events = client.watch();
  assert.deepEqual(await events.read(3), [
    { type: "ADDED", pod: shown("a", "Pending") },
    { type: "ADDED", pod: shown("b", "Running") },
    { type: "INITIAL_SYNC_COMPLETE", pod: undefined },
  ]);
  pods.set("c");
  pods.set("c", { phase: "Running" });
  pods.delete("b");
  assert.deepEqual(await events.read(3), [
    { type: "ADDED", pod: shown("c", "Pending") },
    { type: "MODIFIED", pod: shown("c", "Running") },
    {
      type: "DELETED",
      pod: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "pod-b", namespace: "default", uid: "b" },
      },
    },
  ]);
  events.cancel();
  await until(() => counted("requests_watch_total").length > 0);
  assert.deepEqual(counted("requests_watch_total"), ["Canceled 1"]);
});

test("pods API: who does not read is ended, and who reads misses nothing", async () => {
  const big = { spec: { containers: [{ name: "c", image: "x".repeat(20_000) }] } };
  const idle = client.watch();
  const reader = connect().watch();
  await idle.read(1);
  await reader.read(1);
  const changes = 900;
  for (let i = 0; i < changes; i += 1) pods.set("a", { phase: `${i}` }, big);
  const got = await reader.read(changes);
  assert.deepEqual(
    got.map(({ pod }) => pod?.status?.phase),
    Array.from({ length: changes }, (_, i) => `${i}`),
  );
  assert.deepEqual(
    counted("watch_events_dropped_total").at(-1),
    "kubelet_pod_watch_events_dropped_total 1",
  );
  await assert.rejects(idle.read(changes), {
    code: 8,
    details: "watch client channel closed",
  });
});

test("pods API: more changes at once than wait for all watchers end them", async () => {
  const events = client.watch();
  await events.read(1);
  for (let i = 0; i < 1_200; i += 1) pods.set("a", { phase: `${i}` });
  await assert.rejects(events.read(1_200), { code: 8 });
});

test("pods API: calls beyond the rate are refused and not counted", async () => {
  const calls = await Promise.allSettled(Array.from({ length: 30 }, () => client.list()));
  const refused = calls.filter(({ status }) => status === "rejected");
  const texts = new Set(
    refused.map((each) => ((each as PromiseRejectedResult).reason as ServiceError).details),
  );
  assert.deepEqual([...texts], ["rejected by rate limit"]);
  assert.ok(refused.length >= 10);
  assert.deepEqual(counted("requests_total"), [`OK ${30 - refused.length}`]);
});

test("pods API: the end of the agent ends watches with a status", async () => {
  const events = client.watch();
  await events.read(1);
  const ended = assert.rejects(events.read(1), {
    code: 8,
    details: "watch client channel closed",
  });
  await scope[Symbol.asyncDispose]();
  await ended;
});
