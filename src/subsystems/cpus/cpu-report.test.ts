import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../api/pod-identity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { type CpuReport, reportCpus } from "./cpu-report.ts";
import { cpuOptionsOf } from "./options.ts";
import { MACHINES } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

const [WEB, GONE] = ["uid-web" as PodUid, "uid-gone" as PodUid];
const POLICY = {
  units: unitsOf(MACHINES.B),
  nodes: [0, 1],
  reserved: [0, 6],
  options: cpuOptionsOf({ "full-pcpus-only": "true" }),
};
const STATE = {
  shared: [0, 3, 4, 5, 6, 7, 8, 9, 11],
  pods: new Map([
    [
      WEB,
      new Map([
        ["init", [2, 10]],
        ["main", [2]],
      ]),
    ],
    [GONE, new Map([["main", [1]]])],
  ]),
};
const nameOf = (uid: PodUid) => (uid === WEB ? { namespace: "default", name: "web" } : undefined);

/** CPUs by state and owner. */
function listed({ cpus }: CpuReport): Readonly<Record<string, string>> {
  const found = new Map<string, number[]>();
  for (const { id, state, owner } of cpus) {
    const key = owner ? `${state} ${owner.name || owner.podUid}/${owner.containers}` : state;
    found.set(key, [...(found.get(key) ?? []), id]);
  }
  return Object.fromEntries([...found].map(([key, ids]) => [key, formatCpuList(ids)]));
}

test("each CPU has one state, its owner where it is exclusive, and its place", () => {
  const machine = { topology: MACHINES.B, offline: [12] };
  const report = reportCpus({ machine, policy: POLICY, state: STATE, nameOf });
  assert.deepEqual(listed(report), {
    reserved: "0,6",
    "exclusive uid-gone/main": "1",
    "exclusive web/init,main": "2",
    "exclusive web/init": "10",
    shared: "3-5,7-9,11",
    offline: "12",
  });
  assert.deepEqual(
    [report.policy, report.options, report.reserved, report.shared],
    ["static", ["full-pcpus-only"], "0,6", "0,3-9,11"],
  );
  assert.deepEqual(report.cpus.at(-1), { id: 12, state: "offline" });
  assert.deepEqual(report.cpus[3], {
    id: 3,
    core: 3,
    socket: 1,
    node: 1,
    cache: 1,
    state: "shared",
  });
});

test("of each NUMA node is said what is left: whole cores, and CPUs of cores that are broken into", () => {
  const machine = { topology: MACHINES.B, offline: [] };
  const { nodes } = reportCpus({ machine, policy: POLICY, state: STATE, nameOf });
  const [even, odd] = ["0,2,4,6,8,10", "1,3,5,7,9,11"];
  assert.deepEqual(nodes, [
    {
      id: 0,
      sockets: [0],
      cpus: even,
      free: "4,8",
      wholeCores: 0,
      stray: "4,8",
      largestCache: 2,
    },
    {
      id: 1,
      sockets: [1],
      cpus: odd,
      free: "3,5,7,9,11",
      wholeCores: 2,
      stray: "7",
      largestCache: 5,
    },
  ]);
});

test("CPUs that went offline or came online while the agent runs", () => {
  const { cpus, nodes } = MACHINES.B;
  const without = (id: number) => cpus.filter((cpu) => cpu.id !== id);
  const now = { topology: { cpus: without(2), nodes }, offline: [2] };
  const report = reportCpus({ machine: now, policy: POLICY, state: STATE, nameOf });
  const { node, state, owner } = report.cpus[2] ?? {};
  assert.deepEqual([node, state, owner?.name], [0, "offline", "web"]);
  const before = { ...POLICY, units: unitsOf({ cpus: without(11), nodes }) };
  const later = reportCpus({
    machine: { topology: MACHINES.B, offline: [] },
    policy: before,
    state: { ...STATE, shared: STATE.shared.filter((cpu) => cpu !== 11) },
    nameOf,
  });
  assert.equal(later.cpus[11]?.state, "unused");
});

test("without a policy all CPUs are shared", () => {
  const machine = { topology: MACHINES.E, offline: [] };
  const state = { shared: [], pods: new Map() };
  const report = reportCpus({ machine, policy: undefined, state, nameOf });
  assert.deepEqual(listed(report), { shared: "0-15" });
  assert.deepEqual([report.policy, report.shared, report.reserved], ["none", "0-15", ""]);
  assert.equal(report.nodes[0]?.largestCache, 4);
});
