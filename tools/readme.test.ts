// README says what works and what does not: each row of that table is held to docs/PARITY.md, which names tests, to the
// tables that the code decides by, and to tests of the single node.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SERVED_SOURCES } from "../src/api/pod/volume-sources.ts";
import { UNSUPPORTED } from "../src/localapi/kinds/unsupported-kinds.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const cellsOf = (line: string) => line.split("|").map((cell) => cell.trim());

/** State of each feature in PARITY, by its id. */
const STATES = new Map(
  read("docs/PARITY.md")
    .split("\n")
    .filter((line) => /^\| [A-Z]\d/.test(line))
    .map(cellsOf)
    .flatMap(([, ids = "", , state = ""]) => ids.split(", ").map((id) => [id, state] as const)),
);

/** A test, by its file and a part of its name or text. */
type Proof = readonly [file: string, part: string];

/** What a row claims, and what that rests on. */
interface Claim {
  /** Beginnings of the two cells: on one machine, and in a cluster. */
  readonly cells: readonly [oneMachine: string, cluster: string];
  /** Features of PARITY that must be done, or must not be there. */
  readonly done?: readonly string[];
  readonly absent?: readonly string[];
  readonly tests?: readonly Proof[];
  readonly check?: (row: string) => void;
}

const YES = ["yes", "yes"] as const;
const NO = ["no", "no"] as const;
const KUBECTL = "test/localapi/kubectl.it.ts";

/** By the beginning of the row's first cell. */
const CLAIMS: Readonly<Record<string, Claim>> = {
  "pods:": {
    cells: YES,
    done: ["I4", "I5", "I6", "D1", "I20", "I8", "E11", "I33", "I30", "I31"],
    tests: [["test/pods/security.it.ts", "test("]],
  },
  "volumes:": {
    cells: YES,
    done: ["L3", "L4", "L5", "L6", "L7", "L8", "I35", "L12"],
    check: (row) => {
      const named = row.toLowerCase().replaceAll(" ", "");
      const claims = ["persistentVolumeClaim", "ephemeral", "csi"];
      for (const source of SERVED_SOURCES.filter((name) => !claims.includes(name)))
        assert.ok(named.includes(source.toLowerCase()), `${source} is served and not in the row`);
    },
  },
  PersistentVolumeClaims: {
    cells: ["yes, in folders of the node", "those bound to CSI, local and hostPath volumes"],
    done: ["L12", "L5"],
    tests: [["test/localapi/claims.it.ts", "a claim gets a local volume, and its data survives"]],
  },
  "CSI volumes": {
    cells: ["yes, nothing provisions or attaches", "yes"],
    tests: [
      ["test/localapi/csi-driver-pod.it.ts", "a CSI driver in a pod serves a claim on one machine"],
      ["test/volumes/csi.it.ts", "a persistent volume waits for its attachment"],
    ],
  },
  "eviction,": { cells: YES, done: ["N1", "N5", "B7", "I25", "C1", "C11", "I32"] },
  "`kubectl` get,": {
    cells: YES,
    done: ["S5", "S6"],
    tests: [
      ...["get", "apply", "logs", "exec", "cp", "port-forward", "debug", "top"].map(
        (verb): Proof => [KUBECTL, `"${verb}"`],
      ),
      ["test/kube/node.it.ts", "a pod of the API runs, is exec'd into"],
    ],
  },
  "Deployments,": {
    cells: ["with `nodelet up --control-plane`", "what the cluster has"],
    tests: [
      ["test/localapi/claims.it.ts", "what this API does not have is explained"],
      ["test/control-plane/up.soak.ts", "a Deployment behind a Service is reached by its DNS name"],
    ],
    check: () => {
      const kinds = UNSUPPORTED.map(({ kind }) => kind);
      for (const kind of ["Deployment", "Job", "Role", "CustomResourceDefinition"])
        assert.ok(kinds.includes(kind), kind);
    },
  },
  "tokens of service accounts": {
    cells: ["no", "yes"],
    tests: [["test/kube/references.it.ts", "tokens reach the pod"]],
  },
  "exclusive CPUs, memory of NUMA nodes": {
    cells: YES,
    done: ["O1", "O2", "O3"],
    tests: [["test/cpus/owned-cpus.it.ts", "a Guaranteed pod has its CPU alone"]],
  },
  "dynamic resource allocation": {
    cells: YES,
    done: ["O5"],
    tests: [
      [
        "test/localapi/device-claims.it.ts",
        "a pod with a claim from a template runs on one machine",
      ],
      ["test/claims/module.test.ts", "claims of one driver are prepared by one call"],
    ],
  },
  "checkpoints of containers": { cells: NO, absent: ["I36", "S12"] },
  "log queries": { cells: YES, done: ["S8"] },
  tracing: { cells: YES, done: ["Q9"] },
  "graceful node shutdown": {
    cells: YES,
    done: ["N12", "G12"],
    tests: [["test/agent/shutdown.it.ts", "a reboot waits for pods"]],
  },
  "Windows nodes": { cells: NO, tests: [["tools/setup/set-up.mjs", "nodelet runs on Linux"]] },
};

const [, table = ""] =
  /## What works, and what does not\n\n\|.*\n\| ---.*\n((?:\|.*\n)+)/.exec(read("README.md")) ?? [];
const rows = table.trimEnd().split("\n").map(cellsOf);
const rowOf = (start: string) => rows.find(([, what = ""]) => what.startsWith(start));

test("README: each row of what works is held by a claim here, and each claim is a row", () => {
  const unheld = rows
    .map(([, what = ""]) => what)
    .filter((what) => !Object.keys(CLAIMS).some((start) => what.startsWith(start)));
  assert.deepEqual(unheld, []);
  assert.equal(rows.length, Object.keys(CLAIMS).length);
});

for (const [start, claim] of Object.entries(CLAIMS))
  test(`README: what works: ${start}`, () => {
    const row = rowOf(start);
    assert.ok(row, "the row is missing");
    const [, what = "", oneMachine = "", cluster = ""] = row;
    for (const [cell, begins] of [
      [oneMachine, claim.cells[0]],
      [cluster, claim.cells[1]],
    ] as const)
      assert.ok(cell.startsWith(begins), `"${cell}" must begin with "${begins}"`);
    for (const id of claim.done ?? []) assert.match(STATES.get(id) ?? "", /^done/, id);
    for (const id of claim.absent ?? []) assert.match(STATES.get(id) ?? "", /^no\b/, id);
    for (const [file, part] of claim.tests ?? [])
      assert.ok(read(file).includes(part), `${file} does not contain ${part}`);
    claim.check?.(what);
  });
