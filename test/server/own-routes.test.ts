import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import type { CoreEvent, Pod } from "../../src/api/generated/types.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const SLEEP = { kind: "sleep" } as const;
let world: ServedWorld;
before(async () => {
  world = await startWorld({ config: { staticPodURLHeader: { Authorization: ["secret"] } } });
  await world.run("web", SLEEP);
  await world.untilPhase("web", "Running");
});
after(() => world[Symbol.asyncDispose]());

async function json<T>(path: string): Promise<T> {
  const answer = await world.local(path);
  assert.equal(answer.status, 200, `${path}: ${answer.body}`);
  return JSON.parse(answer.body) as T;
}

/** The fields of a value, lists by their first element, as `a.b[]`. */
function shape(value: unknown, at = ""): string[] {
  if (Array.isArray(value)) return value.length > 0 ? shape(value[0], `${at}[]`) : [`${at}[]`];
  if (typeof value !== "object" || value === null) return [at];
  return Object.entries(value).flatMap(([key, inner]) => shape(inner, `${at}.${key}`));
}

/** The examples of docs/server.md, by the heading they stand under. */
function documented(heading: string): unknown {
  const docs = readFileSync(join(import.meta.dirname, "../../docs/server.md"), "utf8");
  const section = docs.split("\n### ").find((text) => text.startsWith(`\`GET ${heading}\``));
  return JSON.parse(/```json\n([\s\S]*?)```/.exec(section ?? "")?.[1] ?? "null");
}

describe("/nodelet/v1", () => {
  test("overview has the shape that is documented", async () => {
    const overview = await json<Record<string, unknown>>("/nodelet/v1/overview");
    const withoutCounts = (value: unknown) =>
      shape(value)
        .filter((path) => !path.includes("byPhase"))
        .sort();
    assert.deepEqual(withoutCounts(overview), withoutCounts(documented("overview")));
    assert.equal(overview["ready"], true);
    assert.equal(overview["node"], "node-1");
    assert.deepEqual(overview["pods"], { total: 1, byPhase: { Running: 1 } });
    assert.equal(overview["containersRunning"], 1);
  });

  test("overview says why the node is not ready", async () => {
    world.runtime.options.networkReady = false;
    await world.clockForward(6_000);
    await world.until(async () => {
      const { ready, why } = await json<{ ready: boolean; why: string }>("/nodelet/v1/overview");
      return !ready && why.startsWith("NetworkReady: ");
    }, "the network is missed");
    world.runtime.options.networkReady = true;
    await world.clockForward(6_000);
    await world.until(
      async () => (await json<{ ready: boolean }>("/nodelet/v1/overview")).ready,
      "all is well again",
    );
  });

  test("pods carry their status", async () => {
    const list = await json<{ kind: string; items: Pod[] }>("/nodelet/v1/pods");
    assert.equal(list.kind, "PodList");
    assert.deepEqual(
      list.items.map(({ status }) => status?.phase),
      ["Running"],
    );
    const pod = await json<Pod>("/nodelet/v1/pods/default/web");
    assert.equal(pod.status?.containerStatuses?.[0]?.ready, true);
    const missing = await world.local("/nodelet/v1/pods/default/none");
    assert.equal(missing.status, 404);
    const status = JSON.parse(missing.body) as Record<string, unknown>;
    assert.deepEqual(
      [status["kind"], status["code"], status["reason"], status["message"]],
      ["Status", 404, "NotFound", "there is no pod default/none"],
    );
  });

  test("events, decisions, problems and probes are chosen by their questions", async () => {
    const reasons = async (query: string) =>
      (await json<{ items: CoreEvent[] }>(`/nodelet/v1/events${query}`)).items.map(
        ({ reason }) => reason,
      );
    assert.ok((await reasons("")).length > (await reasons("?for=pod/default/web")).length);
    assert.ok((await reasons("?for=pod/default/web")).includes("Started"));
    assert.deepEqual(await reasons("?for=pod/uid-web"), await reasons("?for=pod/default/web"));
    assert.ok((await reasons("?for=node")).includes("Starting"));
    assert.equal((await reasons("?for=node&limit=1")).length, 1);
    assert.deepEqual(await reasons("?for=pod/default/none"), []);
    assert.deepEqual(await reasons("?for=pod/web"), await reasons("?for=pod/default/web"));
    assert.deepEqual(await reasons("?for=pod/web&namespace=other"), []);
    const decisions = await json<{ items: { kind: string }[]; lost: number }>(
      "/nodelet/v1/decisions?pod=default/web",
    );
    assert.ok(decisions.items.some(({ kind }) => kind === "admit"));
    assert.deepEqual(
      shape(decisions.items[0])
        .filter((path) => !path.startsWith(".inputs"))
        .sort(),
      [".atMs", ".kind", ".rule", ".sequence", ".subject.kind", ".subject.name", ".subject.uid"],
    );
    assert.equal(
      (await json<{ items: unknown[] }>("/nodelet/v1/decisions?uid=uid-web&limit=1")).items.length,
      1,
    );
    assert.deepEqual(
      (await json<{ items: unknown[] }>("/nodelet/v1/decisions?uid=none")).items,
      [],
    );
    assert.deepEqual(await json("/nodelet/v1/problems"), { items: [] });
    assert.deepEqual(await json("/nodelet/v1/probes"), { items: [] });
    const lives = await json<{ items: { kind: string }[] }>("/nodelet/v1/decisions?name=node-1");
    assert.deepEqual(
      lives.items.map(({ kind }) => kind),
      ["startAgent"],
    );
    for (const path of [
      "events?for=job/x",
      "events?since=1h",
      "events?limit=0",
      "decisions?limit=many",
    ])
      assert.equal((await world.local(`/nodelet/v1/${path}`)).status, 400, path);
  });

  test("events are read from disk where a time is given or all are asked for", async () => {
    const events = async (query: string) =>
      (await json<{ items: CoreEvent[] }>(`/nodelet/v1/events?${query}`)).items;
    const all = await events("history=true");
    assert.deepEqual(all, await events(""));
    assert.deepEqual(await events("history=true&limit=2"), all.slice(-2));
    const time = (ms: number) => new Date(ms).toISOString();
    const now = world.clock.wall();
    assert.deepEqual(await events(`since=${time(now - 3_600_000)}`), all);
    assert.deepEqual(await events(`since=${time(now + 3_600_000)}`), []);
    const forPod = await events("history=true&for=pod/default/web");
    assert.ok(forPod.length > 0 && forPod.length < all.length);
  });

  test("changes send the present state, then what changes", async () => {
    const stream = await openChanges();
    const first = await stream.until("synced");
    assert.equal(first[0]?.kind, "overview");
    assert.ok(first.some(({ kind, pod }) => kind === "pod" && pod?.metadata?.name === "web"));
    assert.ok(first.some(({ kind }) => kind === "event"));
    // A state of a pod that lasts a moment only is not sent: this one takes its second to end.
    await world.run("later", { kind: "stubborn" });
    const running = (change: Change) =>
      change.pod?.metadata?.name === "later" && change.pod.status?.phase === "Running";
    await stream.untilSent(running);
    await stream.untilSent(
      ({ kind, event }) => kind === "event" && event?.involvedObject.name === "later",
    );
    await stream.untilSent(
      ({ kind, overview }) => kind === "overview" && overview?.pods.byPhase["Running"] === 2,
    );
    world.drop("uid-later");
    await stream.untilSent(
      ({ pod }) => pod?.metadata?.name === "later" && pod.metadata.deletionTimestamp !== undefined,
    );
    const gone = await stream.untilSent(({ kind }) => kind === "podGone");
    assert.deepEqual([gone.uid, gone.namespace, gone.name], ["uid-later", "default", "later"]);
    await world.clockForward(16_000);
    await stream.untilSent(({ kind }) => kind === "alive");
    stream.close();
  });

  test("changes send a pod as the list has it, and only when something in it differs", async () => {
    const stream = await openChanges();
    await world.run("loop", { kind: "exit", code: 1, afterMs: 100 }, { restartPolicy: "Always" });
    const isLoop = ({ kind, pod }: Change) => kind === "pod" && pod?.metadata?.name === "loop";
    const restarts = ({ pod }: Change) => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
    await stream.untilSent((change) => isLoop(change) && restarts(change) === 1);
    const sent = stream
      .sent()
      .filter(isLoop)
      .map(({ pod }) => pod);
    for (const [i, pod] of sent.entries()) assert.notDeepEqual(pod, sent[i - 1]);
    const { items } = await json<{ items: Pod[] }>("/nodelet/v1/pods");
    const web = stream.sent().findLast(({ pod }) => pod?.metadata?.name === "web");
    assert.deepEqual(
      web?.pod,
      items.find(({ metadata }) => metadata?.name === "web"),
    );
    stream.close();
    world.drop("uid-loop");
  });

  interface Change {
    readonly kind: string;
    readonly uid?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly pod?: Pod;
    readonly event?: CoreEvent;
    readonly overview?: { readonly pods: { readonly byPhase: Record<string, number> } };
  }

  async function openChanges() {
    const asked = request({
      socketPath: world.socketPath,
      path: "/nodelet/v1/changes",
      agent: false,
    });
    asked.on("error", () => {});
    asked.end();
    const answer = await new Promise<IncomingMessage>((resolve) => asked.once("response", resolve));
    const lines = createInterface({ input: answer })[Symbol.asyncIterator]();
    const next = async (): Promise<Change> => {
      const { value, done } = await lines.next();
      assert.equal(done, false, "the stream ended");
      return JSON.parse(String(value)) as Change;
    };
    const sent: Change[] = [];
    const untilSent = async (test: (change: Change) => boolean): Promise<Change> => {
      for (;;) {
        const found = sent.find(test);
        if (found) return found;
        sent.push(await next());
      }
    };
    return {
      untilSent,
      sent: (): readonly Change[] => sent,
      until: async (kind: string) => {
        const seen: Change[] = [];
        do seen.push(await next());
        while (seen.at(-1)?.kind !== kind);
        return seen;
      },
      close: () => asked.destroy(),
    };
  }
});

describe("the kubelet's reports", () => {
  test("pods, running pods, configuration and metrics", async () => {
    const pods = await json<{ kind: string; apiVersion: string; metadata: object; items: Pod[] }>(
      "/pods",
    );
    assert.deepEqual([pods.kind, pods.apiVersion, pods.metadata], ["PodList", "v1", {}]);
    assert.equal(pods.items[0]?.status?.phase, "Running");
    const running = await json<{ items: Pod[] }>("/runningpods/");
    assert.deepEqual(running.items[0]?.metadata, {
      name: "web",
      namespace: "default",
      uid: "uid-web",
    });
    assert.deepEqual(running.items[0]?.spec?.containers, [
      { name: "c", image: "nodelet.test/nodelet-test:1" },
    ]);
    const { kubeletconfig } = await json<{ kubeletconfig: Record<string, unknown> }>("/configz");
    assert.equal(kubeletconfig["kind"], "KubeletConfiguration");
    assert.equal(kubeletconfig["syncFrequency"], "1m0s");
    // Who may read it may see the credentials, as with the Go kubelet; only the log of the start masks them.
    assert.deepEqual(kubeletconfig["staticPodURLHeader"], { Authorization: ["secret"] });
    const metrics = await world.local("/metrics");
    assert.equal(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for (const name of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "process_start_time_seconds",
      "process_open_fds",
      "nodejs_heap_size_used_bytes",
      'nodelet_eventloop_delay_seconds{quantile="0.99"}',
      'kubelet_node_name{node="node-1"} 1',
      "kubelet_http_inflight_requests",
      "kubelet_running_pods 1",
    ])
      assert.ok(metrics.body.includes(`\n${name}`), name);
    assert.equal((await world.local("/metrics/probes")).status, 200);
  });

  test("eviction: whom a round would evict, with thresholds that are asked for", async () => {
    interface Report {
      readonly signals: readonly { readonly signal: string; readonly threshold?: string }[];
      readonly pressure?: { readonly signal: string; readonly pods: readonly { name: string }[] };
    }
    const now = await json<Report>("/nodelet/v1/eviction");
    assert.ok(now.signals.some(({ signal }) => signal === "nodefs.available"));
    assert.equal(now.pressure, undefined);
    const asked = await json<Report>("/nodelet/v1/eviction?nodefs.available=99%25");
    assert.equal(asked.pressure?.signal, "nodefs.available");
    assert.ok(asked.pressure?.pods.some(({ name }) => name.startsWith("default/web")));
    for (const query of ["memory=1Gi", "memory.available=x"])
      assert.equal((await world.local(`/nodelet/v1/eviction?${query}`)).status, 400, query);
  });
});
