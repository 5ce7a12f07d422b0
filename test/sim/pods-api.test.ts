// The pods API of the agent on virtual time: its gate, and what it says of pods of a cluster that come, change and go.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { until } from "../../src/kit/cell.ts";
import { POD_EVENT_TYPE, PODS_API } from "../../src/outside/plugins/plugins.ts";
import { readPod } from "../support/wire-pod.ts";
import { inCluster } from "./cluster-world.ts";

const SOCKET = "/var/lib/kubelet/pods-api/pods-api.sock";
const PLACE = { collection: "pods", namespace: "default", name: "web" };
const { fullName, methods } = PODS_API;

interface Seen {
  readonly type: number;
  readonly pod: Pod | undefined;
}

test("pods API: a pod of a cluster is created, changed and deleted", () =>
  inCluster(async ({ world, api, create, pod }) => {
    await world.advance(10_000);
    const signal = new AbortController().signal;
    const channel = world.grpc.process().grpc.connect({ target: `unix://${SOCKET}` });
    const seen: Seen[] = [];
    const watch = async () => {
      await until(channel.state, (link) => link === "ready", signal);
      const events = channel.serverStream(methods.watchPods, fullName, {}, { signal });
      for await (const { type, pod: bytes } of events)
        seen.push({ type, pod: bytes.length === 0 ? undefined : readPod(bytes) });
    };
    const watching = watch();
    await world.advance(1_000);
    assert.deepEqual(seen.splice(0), [
      { type: POD_EVENT_TYPE.INITIAL_SYNC_COMPLETE, pod: undefined },
    ]);
    create("web", { kind: "sleep" });
    await world.advance(10_000);
    const [first, ...more] = seen.splice(0);
    assert.equal(first?.type, POD_EVENT_TYPE.ADDED);
    assert.deepEqual([...new Set(more.map(({ type }) => type))], [POD_EVENT_TYPE.MODIFIED]);
    const last = more.at(-1)?.pod;
    assert.equal(last?.status?.phase, "Running");
    assert.equal(last.metadata?.uid, pod("web")?.metadata?.uid);
    const body = { metadata: { labels: { tier: "front" } } };
    api.objects.patch(PLACE, false, { body, strategic: false });
    await world.advance(1_000);
    const changed = seen.splice(0);
    assert.ok(changed.some((each) => each.pod?.metadata?.labels?.["tier"] === "front"));
    assert.ok(changed.every(({ type }) => type === POD_EVENT_TYPE.MODIFIED));
    api.objects.delete(PLACE, {});
    await world.advance(30_000);
    const gone = seen.splice(0);
    const deleted = gone.filter(({ type }) => type === POD_EVENT_TYPE.DELETED);
    assert.deepEqual(gone.at(-1), deleted[0]);
    const { name, namespace, uid } = last.metadata ?? {};
    assert.deepEqual(
      deleted.map((each) => each.pod?.metadata),
      [{ name, namespace, uid }],
    );
    const ended = assert.rejects(watching, /watch client channel closed|Connection dropped/);
    await world.stopAgent();
    await world.advance(1_000);
    await ended;
    channel.close();
  }));

for (const [what, gates, config, isThere] of [
  ["by default", {}, {}, true],
  ["with the gate off", { PodsAPI: false }, {}, false],
  ["as in 1.36", {}, { compat: "1.36" }, false],
] as const)
  test(`pods API: ${isThere ? "served" : "not served"} ${what}, its counters are there`, () =>
    inCluster(
      async ({ world }) => {
        await world.advance(10_000);
        assert.equal(world.host.files.hasSocket(SOCKET), isThere);
        const page = world.agent?.metrics.expose() ?? "";
        assert.match(page, /^# TYPE kubelet_pod_requests_total counter$/m);
        assert.match(page, /^# TYPE kubelet_pod_watch_events_dropped_total counter$/m);
        world.killAgent();
      },
      gates,
      { config },
    ));
