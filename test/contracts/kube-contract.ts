// What an agent relies on in the Kubernetes API. Runs against the simulated server and a real one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import {
  CONFIG_MAPS,
  followObjects,
  isApiError,
  KubeClient,
  LEASES,
  NODES,
  PODS,
} from "../../src/outside/kube/kube.ts";
import {
  at,
  Changes,
  type KubeUnderTest,
  NAMESPACE,
  NEVER,
  pod,
  refusal,
  status1,
} from "./kube-contract-parts.ts";

export type { KubeUnderTest };

/** Registers the suite; `start` makes one server for all of it. */
export function kubeContract(
  name: string,
  start: () => Promise<KubeUnderTest>,
  options: { readonly skip?: string | false } = {},
): void {
  const skip = options.skip ?? false;
  let server: KubeUnderTest;
  let client: KubeClient;
  let count = 0;
  const fresh = (prefix: string) => {
    count += 1;
    return `${prefix}-${count}`;
  };

  before(async () => {
    if (skip !== false) return;
    server = await start();
    const clock = server.clock ?? createSystemClock();
    client = new KubeClient({}, { transport: server.transport, clock, log: silentLog });
  });
  after(async () => {
    if (skip === false) await server.close();
  });

  const examine = (what: string, body: () => Promise<void>) =>
    test(`${name}: ${what}`, { skip }, body);

  const follow = <T>(options: Parameters<typeof followObjects<T & object>>[0]) => {
    const leave = new AbortController();
    const changes = followObjects<T & object>(
      options,
      {
        client,
        clock: server.clock ?? createSystemClock(),
        random: createSeededRandom(1),
        log: silentLog,
      },
      leave.signal,
    );
    return new Changes(changes, leave);
  };

  examine("an object is made, read, listed and gone", async () => {
    const key = fresh("map");
    const made = await client.create(
      CONFIG_MAPS,
      { namespace: NAMESPACE },
      { metadata: { name: key, labels: { of: key } }, data: { a: "1" } },
      NEVER,
    );
    assert.ok(made.metadata?.uid);
    const read = await client.get(CONFIG_MAPS, at(key), NEVER);
    assert.deepEqual(read.data, { a: "1" });
    const list = await client.list(
      CONFIG_MAPS,
      { namespace: NAMESPACE, labelSelector: `of=${key}` },
      NEVER,
    );
    assert.deepEqual(
      list.items.map(({ metadata, kind }) => [metadata?.name, kind]),
      [[key, "ConfigMap"]],
    );
    await client.delete(CONFIG_MAPS, at(key), {}, NEVER);
    const gone = await refusal(client.get(CONFIG_MAPS, at(key), NEVER));
    assert.equal(gone.statusCode, 404);
    assert.equal(gone.code, "notFound");
    assert.equal(gone.reason, "NotFound");
    assert.equal(gone.status.details?.name, key);
    assert.equal(gone.message, `configmaps "${key}" not found`);
  });

  examine("a name is taken once, and a stale object is not written", async () => {
    const key = fresh("map");
    const place = { namespace: NAMESPACE };
    const made = await client.create(CONFIG_MAPS, place, { metadata: { name: key } }, NEVER);
    const taken = await refusal(
      client.create(CONFIG_MAPS, place, { metadata: { name: key } }, NEVER),
    );
    assert.deepEqual([taken.statusCode, taken.code], [409, "alreadyExists"]);
    await client.update(CONFIG_MAPS, at(key), { ...made, data: { a: "1" } }, NEVER);
    const stale = await refusal(
      client.update(CONFIG_MAPS, at(key), { ...made, data: { a: "2" } }, NEVER),
    );
    assert.deepEqual([stale.statusCode, stale.reason], [409, "Conflict"]);
    assert.equal(stale.code, "precondition");
  });

  examine("generateName gives each its own name", async () => {
    const make = () =>
      client.create(
        CONFIG_MAPS,
        { namespace: NAMESPACE },
        { metadata: { generateName: "made-" } },
        NEVER,
      );
    const names = [(await make()).metadata?.name, (await make()).metadata?.name];
    assert.match(names[0] ?? "", /^made-.{5}$/);
    assert.notEqual(names[0], names[1]);
  });

  examine("a long list comes in pages of one version", async () => {
    const label = fresh("page");
    for (let i = 0; i < 5; i += 1)
      await client.create(
        CONFIG_MAPS,
        { namespace: NAMESPACE },
        { metadata: { name: `${label}-${i}`, labels: { of: label } } },
        NEVER,
      );
    const selection = { namespace: NAMESPACE, labelSelector: `of=${label}` };
    const first = await client.list(CONFIG_MAPS, { ...selection, limit: 2 }, NEVER);
    assert.equal(first.items.length, 2);
    const next = first.metadata.continue ?? "";
    const second = await client.list(
      CONFIG_MAPS,
      { ...selection, limit: 2, continue: next },
      NEVER,
    );
    assert.equal(second.items.length, 2);
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    await using changes = follow({ resource: CONFIG_MAPS, pageSize: 2, ...selection });
    const all = await changes.next();
    assert.equal(all.kind === "all" && all.objects.length, 5);
  });

  examine("a status is patched without touching the rest, lists by their keys", async () => {
    const key = fresh("pod");
    const made = await client.create(PODS, { namespace: NAMESPACE }, pod(key, "n1"), NEVER);
    const uid = made.metadata?.uid ?? "";
    assert.equal(made.status?.phase, "Pending");
    const status = (body: unknown) =>
      client.patch(
        PODS,
        at(key, "status"),
        { kind: "strategic", body: { metadata: { uid }, status: body } },
        NEVER,
      );
    await status({
      phase: "Running",
      message: "on its way",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [status1("a")],
    });
    const patched = await status({
      podIPs: [{ ip: "10.0.0.2" }, { $patch: "replace" }],
      podIP: "10.0.0.2",
      conditions: [{ type: "Other", status: "True" }],
      containerStatuses: [status1("b")],
    });
    assert.equal(patched.status?.phase, "Running");
    assert.deepEqual(patched.status?.podIPs, [{ ip: "10.0.0.2" }]);
    assert.deepEqual(
      new Set(patched.status?.conditions?.map(({ type, status: value }) => `${type}=${value}`)),
      new Set(["Ready=False", "Other=True"]),
    );
    assert.deepEqual(
      patched.status?.containerStatuses?.map(({ name: containerName }) => containerName),
      ["b"],
    );
    const without = await status({
      conditions: [{ type: "Other", $patch: "delete" }],
      message: null,
    });
    assert.deepEqual(
      without.status?.conditions?.map(({ type }) => type),
      ["Ready"],
    );
    assert.equal(without.status?.message, undefined);
    assert.equal(without.spec?.containers[0]?.image, "example/image:1");
    const other = await refusal(
      client.patch(
        PODS,
        at(key, "status"),
        { kind: "strategic", body: { metadata: { uid: "other" }, status: { phase: "Failed" } } },
        NEVER,
      ),
    );
    // Another object of the name: a conflict, or to older servers a change of what cannot be changed.
    assert.ok([409, 422].includes(other.statusCode), other.message);
  });

  examine("a pod that is bound is deleted in two steps", async () => {
    const key = fresh("pod");
    const made = await client.create(PODS, { namespace: NAMESPACE }, pod(key, "n1"), NEVER);
    const uid = made.metadata?.uid ?? "";
    await client.delete(PODS, at(key), { gracePeriodSeconds: 30 }, NEVER);
    const going = await client.get(PODS, at(key), NEVER);
    assert.ok(going.metadata?.deletionTimestamp);
    assert.equal(going.metadata?.deletionGracePeriodSeconds, 30);
    const now = { gracePeriodSeconds: 0 };
    const other = await refusal(
      client.delete(PODS, at(key), { ...now, preconditions: { uid: "other" } }, NEVER),
    );
    assert.deepEqual([other.statusCode, other.reason], [409, "Conflict"]);
    await client.delete(PODS, at(key), { ...now, preconditions: { uid } }, NEVER);
    assert.equal((await refusal(client.get(PODS, at(key), NEVER))).statusCode, 404);
  });

  examine("nodes and leases are made and patched", async () => {
    const key = fresh("node");
    await client.create(NODES, {}, { metadata: { name: key } }, NEVER);
    const address = (type: string, value: string) => ({ type, address: value });
    await client.patch(
      NODES,
      { name: key, subresource: "status" },
      {
        kind: "strategic",
        body: {
          status: { addresses: [address("InternalIP", "192.0.2.1")], capacity: { cpu: "2" } },
        },
      },
      NEVER,
    );
    const patched = await client.patch(
      NODES,
      { name: key, subresource: "status" },
      {
        kind: "strategic",
        body: {
          status: {
            addresses: [
              address("InternalIP", "192.0.2.2"),
              address("InternalIP", "2001:db8::2"),
              { $patch: "replace" },
            ],
          },
        },
      },
      NEVER,
    );
    assert.deepEqual(
      patched.status?.addresses?.map(({ address: value }) => value),
      ["192.0.2.2", "2001:db8::2"],
    );
    assert.deepEqual(patched.status?.capacity, { cpu: "2" });
    const labelled = await client.patch(
      NODES,
      { name: key },
      { kind: "merge", body: { metadata: { labels: { "example.test/a": "b" } } } },
      NEVER,
    );
    assert.equal(labelled.metadata?.labels?.["example.test/a"], "b");

    const place = { namespace: "kube-node-lease" };
    const lease = await client.create(
      LEASES,
      place,
      {
        metadata: { name: key },
        spec: { holderIdentity: key, renewTime: "2026-01-01T00:00:00.000000Z" },
      },
      NEVER,
    );
    const renewed = await client.update(
      LEASES,
      { ...place, name: key },
      { ...lease, spec: { ...lease.spec, renewTime: "2026-01-01T00:00:10.000000Z" } },
      NEVER,
    );
    assert.equal(renewed.spec?.renewTime, "2026-01-01T00:00:10.000000Z");
  });

  examine("followed objects come as they are and as they change, in order", async () => {
    const node = fresh("node");
    const first = fresh("pod");
    const second = fresh("pod");
    await client.create(PODS, { namespace: NAMESPACE }, pod(first, node), NEVER);
    for (const streamList of [false, true]) {
      await using changes = follow<Pod>({
        resource: PODS,
        fieldSelector: `spec.nodeName=${node}`,
        streamList,
      });
      const all = await changes.next();
      assert.ok(all.kind === "all");
      assert.deepEqual(
        all.objects.map(({ metadata }) => metadata?.name),
        [first],
      );
      await client.create(PODS, { namespace: NAMESPACE }, pod(second, node), NEVER);
      await client.create(PODS, { namespace: NAMESPACE }, pod(fresh("pod"), "elsewhere"), NEVER);
      await client.delete(PODS, at(second), { gracePeriodSeconds: 0 }, NEVER);
      const seen: string[] = [];
      for (let kind = ""; kind !== "gone"; ) {
        const change = await changes.next();
        kind = change.kind;
        const name = change.kind === "all" ? "" : change.object.metadata?.name;
        if (seen.at(-1) !== `${kind} ${name}`) seen.push(`${kind} ${name}`);
      }
      // Some servers show the end coming before it is there.
      assert.deepEqual(seen, [`set ${second}`, `gone ${second}`]);
    }
  });

  examine("following goes on after the connection broke, and misses nothing", async () => {
    const node = fresh("node");
    await using changes = follow<Pod>({ resource: PODS, fieldSelector: `spec.nodeName=${node}` });
    assert.equal((await changes.next()).kind, "all");
    const before = fresh("pod");
    await client.create(PODS, { namespace: NAMESPACE }, pod(before, node), NEVER);
    assert.equal((await changes.next()).kind, "set");
    const meanwhile = fresh("pod");
    // The generator is not asked for more before: what happens meanwhile must come from the watch's past.
    const cut = server.cut();
    await client
      .create(PODS, { namespace: NAMESPACE }, pod(meanwhile, node), NEVER)
      .catch(async (error: unknown) => {
        if (isApiError(error)) throw error;
        await cut;
        await client.create(PODS, { namespace: NAMESPACE }, pod(meanwhile, node), NEVER);
      });
    await cut;
    const change = await changes.next();
    assert.equal(change.kind === "set" && change.object.metadata?.name, meanwhile);
  });

  examine("a watch from a version that is forgotten is answered with 410", async () => {
    const reply = await client.watch(
      CONFIG_MAPS,
      { namespace: NAMESPACE, resourceVersion: "1", timeoutSeconds: 5 },
      NEVER,
    );
    if (reply.kind === "refused") {
      assert.equal(reply.reply.status, 410);
      return;
    }
    for await (const line of reply.lines) {
      const event = JSON.parse(line) as { type: string; object: { code?: number } };
      assert.deepEqual([event.type, event.object.code], ["ERROR", 410]);
      return;
    }
    assert.fail("the watch reported nothing");
  });
}
