// The checks of the CIS benchmark that docs/control-plane.md has in its tables: as kubeadm leaves them, and with the configuration there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { type CisState, judgeCis } from "./cis.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const PAGE = readFileSync(resolve(import.meta.dirname, "../../docs/control-plane.md"), "utf8");

/** Numbers in the row of the table that begins with the word. */
function numbersOf(word: string): readonly string[] {
  const [, cell = ""] = new RegExp(`^\\| ${word} \\| ([^|]*) \\|`, "m").exec(PAGE) ?? [];
  return cell.split(/,\s*/).flatMap((part) => {
    const [, group = "", first = "", last = first] =
      /^(.*\.)(\d+)(?: to (\d+))?$/.exec(part.trim()) ?? [];
    const count = Number(last) - Number(first) + 1;
    return Array.from({ length: count }, (_, at) => `${group}${Number(first) + at}`);
  });
}

/** Numbers of the table of fixes; those that the example has in it, and the others. */
function fixesOf(isInExample: boolean): readonly string[] {
  const rows = [...PAGE.matchAll(/^\| ((?:\d+\.)+\d+(?:, (?:\d+\.)+\d+)*) \| (yes|no) \|/gm)];
  return rows
    .filter(([, , answer]) => (answer === "yes") === isInExample)
    .flatMap(([, numbers = ""]) => numbers.split(", "));
}

function inState(states: ReadonlyMap<string, CisState>, state: CisState): readonly string[] {
  return [...states].filter(([, each]) => each === state).map(([id]) => id);
}

async function serves(machine: ClusterMachine): Promise<void> {
  await serveWeb(machine, 1);
  await startClient(machine, "client");
  await answered(machine, "client");
}

test("what kubeadm leaves open is what the page says", { skip }, async (t) => {
  await using machine = await clusterMachine();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const states = await judgeCis(machine.node.box);
  t.diagnostic(
    ["holds", "open", "operator"]
      .map((state) => `${inState(states, state as CisState).length} ${state}`)
      .join(", "),
  );
  assert.deepEqual(
    inState(states, "open").toSorted(),
    [...fixesOf(true), ...fixesOf(false)].toSorted(),
  );
  assert.deepEqual(inState(states, "holds").toSorted(), numbersOf("hold").toSorted());
  assert.deepEqual(inState(states, "operator").toSorted(), numbersOf("operator").toSorted());
});

test("the configuration on the page closes what it names, and the cluster serves", {
  skip,
}, async () => {
  await using machine = await clusterMachine();
  const { box } = machine.node;
  const [, policy = "", example = ""] =
    /```yaml\n(# \/etc\/nodelet\/audit-policy\.yaml\n.*?)```.*?```yaml\n(# hardened\.yaml.*?)```/s.exec(
      PAGE,
    ) ?? [];
  assert.notEqual(example, "");
  await box.run(["mkdir", "-p", "/etc/nodelet"]);
  box.write("/etc/nodelet/audit-policy.yaml", policy);
  const own = await box.run(["cat", "/run/tmp/kubeadm.yaml"]);
  box.write("/run/tmp/kubeadm.yaml", `${own}---\n${example}`);
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  await serves(machine);
  const open = inState(await judgeCis(box), "open");
  assert.deepEqual(open.toSorted(), fixesOf(false).toSorted());
  const log = await box.run(["head", "-c", "2000", "/var/log/kubernetes/audit.log"]);
  assert.match(log, /"kind":"Event","apiVersion":"audit\.k8s\.io\/v1"/);
});
