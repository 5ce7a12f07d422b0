import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
import type { ClaimDriverOptions } from "../support/claim-driver.ts";
import { ClaimWorld, claimingPod, STATE_FILE } from "./world.ts";

const P1 = claimingPod("p1", "c1", "c2");
const P2 = claimingPod("p2", "c1");

/** A machine with one driver and claims c1, c2 that both pods may use. */
async function worldWith(options: Partial<ClaimDriverOptions> = {}) {
  const world = await new ClaimWorld().open();
  world.claim("c1", [P1, P2]);
  world.claim("c2", [P1, P2]);
  return { world, ...(await world.driver(options)) };
}

test("claims of one driver are prepared by one call, and unprepared by one", async () => {
  const { world, driver } = await worldWith();
  await world.prepare(P1);
  assert.deepEqual(driver.calls, ["prepare c1-uid c2-uid"]);
  assert.deepEqual([...driver.services], ["k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"]);
  const [container] = P1.spec?.containers ?? [];
  if (!container) throw new Error("no container");
  assert.deepEqual(world.claims.cdiDevices(P1, container), ["example.com/device=c1-uid"]);
  await world.prepare(P1);
  assert.equal(driver.calls.length, 1, "a second sandbox needs no call");
  await world.unprepare(P1);
  assert.deepEqual(driver.calls.slice(1), ["unprepare c1-uid c2-uid"]);
  assert.deepEqual(world.held(), []);
  await world.close();
});

test("claims, vectors 30 and 31: the last pod of a shared claim ends it", async () => {
  const { world, driver } = await worldWith();
  await world.prepare(P1);
  await world.prepare(P2);
  assert.deepEqual(driver.calls, ["prepare c1-uid c2-uid"]);
  assert.match(world.held()[0] ?? "", /^c1\(p1-uid,p2-uid\)/);
  await world.unprepare(P1);
  assert.deepEqual(driver.calls.slice(1), ["unprepare c2-uid"]);
  await world.unprepare(P2);
  assert.deepEqual(driver.calls.slice(2), ["unprepare c1-uid"]);
  await world.close();
});

/** What a driver does, or a claim says, and what the event of the pod says. */
const FAULTS: readonly (readonly [
  string,
  Partial<ClaimDriverOptions>,
  ((world: ClaimWorld) => void) | undefined,
  string,
])[] = [
  [
    "25: an answer for one of two",
    { rewrite: (claims) => Object.fromEntries(Object.entries(claims).slice(0, 1)) },
    undefined,
    "NodePrepareResources skipped 1 ResourceClaims",
  ],
  [
    "26: an answer for another claim",
    { rewrite: (claims) => ({ ...claims, u9: Object.values(claims)[0] as never }) },
    undefined,
    "NodePrepareResources returned result for unknown claim UID u9",
  ],
  [
    "27: an error for one claim",
    { error: (_, { name }) => (name === "c2" ? "boom" : "") },
    undefined,
    "NodePrepareResources failed for ResourceClaim c2: boom",
  ],
  [
    "28: not allocated",
    {},
    (world) =>
      world.objects.set("c2", {
        metadata: { uid: "c2-uid" },
        status: { reservedFor: [{ uid: "p1-uid" }] },
      }),
    "ResourceClaim c2: not allocated",
  ],
  [
    "29: reserved for others",
    {},
    (world) => world.claim("c2", [P2]),
    "pod p1 (p1-uid) is not allowed to use ResourceClaim c2 (c2-uid)",
  ],
  [
    "a driver that is not there",
    {},
    (world) => world.claim("c2", [P1], { drivers: ["other.example.com"] }),
    "DRA driver other.example.com is not registered",
  ],
  [
    "no such claim",
    {},
    (world) => world.objects.delete("c2"),
    'fetch ResourceClaim c2: resourceclaims "c2" not found',
  ],
  [
    "a call that fails",
    {
      before: async () => {
        throw new OutsideError("io", "no power");
      },
    },
    undefined,
    "NodePrepareResources: rpc error: code = Unknown desc = no power",
  ],
  [
    "a runtime without CDI devices",
    {},
    (world) => {
      world.runtime = { name: "containerd", version: "1.6.20", config: "{}" };
    },
    "containerd 1.6.20 does not support CDI devices; containerd 1.7 is the first that does",
  ],
  [
    "a runtime that leaves them out",
    {},
    (world) => {
      world.runtime = { name: "containerd", version: "1.7.2", config: '{"enableCDI":false}' };
    },
    "CDI devices are turned off in containerd; set enable_cdi = true in its configuration",
  ],
];

for (const [name, options, change, fault] of FAULTS)
  test(`claims, vector ${name}`, async () => {
    const { world } = await worldWith(options);
    change?.(world);
    assert.equal(await world.fault(P1), fault);
    await world.close();
  });

test("what is wrong before a driver is called leaves no trace", async () => {
  const { world, driver } = await worldWith();
  world.objects.delete("c2");
  await world.fault(P1);
  assert.deepEqual(world.held(), []);
  await world.unprepare(P1);
  assert.deepEqual(driver.calls, []);
  await world.close();
});

test("a generated claim is the pod's own, or is refused", async () => {
  const { world } = await worldWith();
  const pod = {
    ...P1,
    spec: { resourceClaims: [{ name: "x", resourceClaimTemplateName: "t" }], containers: [] },
  };
  assert.equal(await world.fault(pod), 'pod "default/p1": ResourceClaim not created yet');
  const made = {
    ...pod,
    status: { resourceClaimStatuses: [{ name: "x", resourceClaimName: "c1" }] },
  };
  assert.equal(
    await world.fault(made),
    "ResourceClaim default/c1 was not created for Pod default/p1 (Pod is not owner)",
  );
  const object = world.objects.get("c1");
  const ownerReferences = [
    { apiVersion: "v1", kind: "Pod", name: "p1", uid: "p1-uid", controller: true },
  ];
  world.objects.set("c1", { ...object, metadata: { ...object?.metadata, ownerReferences } });
  await world.prepare(made);
  assert.deepEqual(world.held(), ["c1(p1-uid) example.com/device=c1-uid"]);
  await world.close();
});

test("a pod that waits for a driver goes on as soon as it registers", async () => {
  const world = await new ClaimWorld().open();
  world.claim("c1", [P2]);
  world.lives(P2);
  const waits = world.claims.prepare(P2, new AbortController().signal);
  await world.clock.advance(60_000);
  assert.ok(world.events.length >= 2, "it says so again and again");
  const before = world.clock.monotonic();
  await world.driver();
  await world.settled(waits);
  assert.ok(world.clock.monotonic() - before <= 5_000);
  await world.close();
});

test("a driver that hangs is given up after 45 s, and called again", async () => {
  let hangs = true;
  const { world, driver } = await worldWith({
    before: () => (hangs ? new Promise(() => {}) : Promise.resolve()),
  });
  world.lives(P2);
  const waits = world.claims.prepare(P2, new AbortController().signal);
  await world.clock.advance(44_000);
  assert.equal(world.events.length, 0);
  await world.clock.advance(1_500);
  assert.match(world.events[0]?.message ?? "", /code = DeadlineExceeded/);
  hangs = false;
  await world.settled(waits);
  assert.ok(driver.calls.length >= 2);
  await world.close();
});

test("a repeated call replaces what the driver returned before", async () => {
  let round = 0;
  const { world } = await worldWith({
    error: (_, { name }) => (name === "c2" && round === 1 ? "boom" : ""),
    devices: ({ name }) => [
      {
        requestNames: [],
        poolName: "p",
        deviceName: "d",
        cdiDeviceIds: [`v/x=${name}-${round}`],
      },
    ],
    before: async () => {
      round += 1;
    },
  });
  await world.prepare(P1);
  assert.deepEqual(world.held(), ["c1(p1-uid) v/x=c1-1", "c2(p1-uid) v/x=c2-2"]);
  await world.close();
});

test("no pod gets a claim that is just being unprepared", async () => {
  let go = () => {};
  const { world, driver } = await worldWith({
    before: (call) =>
      call === "unprepare"
        ? new Promise<void>((resolve) => {
            go = resolve;
          })
        : Promise.resolve(),
  });
  const only = claimingPod("p3", "c1");
  world.claim("c1", [only, P2]);
  await world.prepare(only);
  const ends = world.claims.unprepare(only, new AbortController().signal);
  await world.clock.advance(10);
  assert.equal(await world.fault(P2), "ResourceClaim c1 is being unprepared");
  const next = world.claims.prepare(P2, new AbortController().signal);
  go();
  await world.settled(Promise.all([ends, next]));
  assert.deepEqual(driver.calls, ["prepare c1-uid", "unprepare c1-uid", "prepare c1-uid"]);
  assert.deepEqual([...driver.prepared], ["c1-uid"]);
  await world.close();
});

test("two pods that start at once make one call for a claim", async () => {
  const { world, driver } = await worldWith({
    before: () => world.clock.sleep(500, new AbortController().signal),
  });
  world.lives(P1);
  world.lives(P2);
  const { signal } = new AbortController();
  await world.settled(
    Promise.all([world.claims.prepare(P1, signal), world.claims.prepare(P2, signal)]),
  );
  assert.deepEqual(driver.calls, ["prepare c1-uid c2-uid"]);
  await world.close();
});

test("claims, vector 33: what was prepared outlives the agent, and is prepared again for a new sandbox", async () => {
  const { world, driver } = await worldWith();
  await world.prepare(P2);
  world.kill();
  await world.open();
  await world.clock.advance(3_000);
  const [container] = P2.spec?.containers ?? [];
  if (!container) throw new Error("no container");
  assert.deepEqual(world.claims.cdiDevices(P2, container), ["example.com/device=c1-uid"]);
  assert.deepEqual(driver.calls, ["prepare c1-uid"]);
  await world.prepare(P2);
  assert.deepEqual(driver.calls, ["prepare c1-uid", "prepare c1-uid"]);
  assert.deepEqual(world.held(), ["c1(p2-uid) example.com/device=c1-uid"]);
  await world.close();
});

test("claims, vector 34: those of pods that are gone are unprepared, as soon as their driver is back", async () => {
  const { world, driver, process } = await worldWith();
  await world.prepare(P1);
  world.kill();
  process.kill();
  world.facts.delete(P1.metadata.uid);
  world.inRuntime.add(P1.metadata.uid);
  await world.open();
  world.claims.sourcesSeen();
  await world.clock.advance(200_000);
  assert.equal(world.held().length, 2, "its containers still run");
  world.inRuntime.clear();
  const back = await world.driver({ instance: "again" });
  await world.clock.advance(60_000);
  assert.deepEqual(world.held(), []);
  assert.deepEqual(driver.calls, ["prepare c1-uid c2-uid"]);
  assert.deepEqual(back.driver.calls, ["unprepare c1-uid c2-uid"]);
  await world.close();
});

test("a claim of the same name waits until the old one is unprepared", async () => {
  const { world, driver } = await worldWith();
  world.claims.sourcesSeen();
  await world.prepare(P2);
  world.facts.delete(P2.metadata.uid);
  world.inRuntime.add(P2.metadata.uid);
  await world.clock.advance(1_000);
  const next = claimingPod("p4", "c1");
  world.claim("c1", [next], { uid: "new" });
  assert.equal(
    await world.fault(next),
    "old ResourceClaim with same name c1 and different UID c1-uid still exists (previous pod force-deleted?!)",
  );
  world.inRuntime.clear();
  await world.prepare(next);
  assert.deepEqual(driver.calls, ["prepare c1-uid", "unprepare c1-uid", "prepare new"]);
  await world.close();
});

test("a driver without which a pod cannot end is waited for", async () => {
  const { world, driver } = await worldWith();
  await world.prepare(P2);
  await driver.stop();
  await world.clock.advance(3_000);
  const ends = world.claims.unprepare(P2, new AbortController().signal);
  await world.clock.advance(30_000);
  const shown = world.news.flatMap((each) => (each.kind === "progress" ? [each.message] : []));
  assert.equal(
    shown.at(-1),
    "unprepare dynamic resources: DRA driver gpu.example.com is not registered",
  );
  assert.deepEqual(world.events, [], "there is no event for it");
  const back = await world.driver();
  await world.settled(ends);
  assert.deepEqual(back.driver.calls, ["unprepare c1-uid"]);
  await world.close();
});

test("claims, vector 16: of two instances the last that is connected is called", async () => {
  const { world, driver: a } = await worldWith({ instance: "a" });
  const { driver: b, process } = await world.driver({ instance: "b" });
  await world.prepare(P1);
  assert.deepEqual([a.calls, b.calls], [[], ["prepare c1-uid c2-uid"]]);
  process.kill();
  await world.clock.advance(10);
  await world.unprepare(P1);
  assert.deepEqual(a.calls, ["unprepare c1-uid c2-uid"]);
  await world.close();
});

test("claims, vector 17: an endpoint registers once", async () => {
  const { world, driver } = await worldWith();
  await assert.rejects(
    world.claims.drivers.register({
      name: "gpu.example.com",
      socketPath: driver.socketPath,
      versions: ["v1.DRAPlugin"],
    }),
    {
      message: `endpoint ${driver.socketPath} already registered for DRA driver plugin gpu.example.com`,
    },
  );
  await world.close();
});

test("a driver with v1beta1 only is called by that", async () => {
  const { world, driver } = await worldWith({ versions: ["v1beta1.DRAPlugin"] });
  await world.prepare(P2);
  assert.deepEqual([...driver.services], ["k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"]);
  assert.deepEqual(driver.statuses, ["registered"]);
  await world.close();
});

test("a damaged file stops the start with what is to be done", async () => {
  const world = new ClaimWorld();
  await world.host.files.makeDirectory("/var/lib/kubelet", 0o755);
  await world.host.files.writeAtomic(STATE_FILE, '{"Data":"{}","Checksum":1}', 0o600);
  await assert.rejects(world.open(), {
    name: "UsageError",
    message:
      /failed to get checkpoint dra_manager_state: checkpoint is corrupted; drain this node and remove/,
  });
});

test("metrics count operations, calls and claims in use", async () => {
  const { world } = await worldWith();
  await world.prepare(P1);
  const page = world.metrics.expose();
  for (const line of [
    'dra_operations_duration_seconds_count{is_error="false",operation_name="PrepareResources"} 1',
    'dra_grpc_operations_duration_seconds_count{driver_name="gpu.example.com",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"} 1',
    'dra_resource_claims_in_use{driver_name="<any>"} 2',
    'dra_resource_claims_in_use{driver_name="gpu.example.com"} 2',
  ])
    assert.ok(page.includes(line), `${line}\n${page}`);
  await world.close();
});
