// The pods API of a running agent, asked by a client of gRPC: what it says of pods that come, change and go.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { BoxedAgent, conditionOf, manifest } from "../support/agent.ts";
import { PodsApiClient, type ReadEvent } from "../support/pods-api-client.ts";

const SOCKET = "/var/lib/kubelet/pods-api/pods-api.sock";
const GATE = "featureGates: {PodsAPI: true}";

const isReady = ({ pod }: ReadEvent) => conditionOf(pod?.status, "Ready") === "True";

test("pods API: a static pod comes, gets ready, is listed, and goes; the end of the agent ends the watch", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { config: GATE });
    const { mode, uid } = statSync(box.path(SOCKET));
    assert.deepEqual([mode & 0o777, uid], [0o600, 0]);
    const client = new PodsApiClient(box.path(SOCKET));
    await client.ready();
    assert.deepEqual(await client.list(), []);
    const watch = client.watch();
    assert.deepEqual(await watch.next(), { type: "INITIAL_SYNC_COMPLETE", pod: undefined });
    agent.apply("p.yaml", manifest("p"));
    const first = await watch.next();
    assert.equal(first.type, "ADDED");
    assert.match(first.pod?.metadata?.name ?? "", /^p-/);
    assert.equal(first.pod?.status?.phase, "Pending");
    const uidOfPod = first.pod?.metadata?.uid ?? "";
    let last = first;
    while (!isReady(last)) {
      last = await watch.next();
      assert.equal(last.type, "MODIFIED");
    }
    const listed = await client.list();
    assert.deepEqual(listed, [await client.get(uidOfPod)]);
    assert.deepEqual(listed[0]?.status, last.pod?.status);
    assert.equal(listed[0]?.status?.containerStatuses?.[0]?.state?.running === undefined, false);
    agent.remove("p.yaml");
    let gone = await watch.next();
    while (gone.type === "MODIFIED") gone = await watch.next();
    const { name, namespace } = first.pod?.metadata ?? {};
    assert.deepEqual(gone, {
      type: "DELETED",
      pod: { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, uid: uidOfPod } },
    });
    await assert.rejects(client.get(uidOfPod), { code: 5 });
    const ended = assert.rejects(watch.read(100), {
      code: 8,
      details: "watch client channel closed",
    });
    await agent.stop();
    await ended;
    client.close();
  }));

test("pods API: nothing is said before every source was seen", () =>
  withBox({}, async (box) => {
    const config = `${GATE}\nstaticPodURL: http://127.0.0.1:9/pods`;
    const agent = await BoxedAgent.start(box, { config });
    const client = new PodsApiClient(box.path(SOCKET));
    await client.ready();
    const refusal = { code: 9, details: "Kubelet is initializing" };
    await assert.rejects(client.list(), refusal);
    await assert.rejects(client.get("x"), refusal);
    await assert.rejects(client.watch().next(), refusal);
    client.close();
    await agent.stop();
  }));
