// Gates, flags and fields against the Go kubelet 1.37 itself: it refuses what is refused here, in the same words. Each
// configuration has one more problem, so that it never starts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FEATURE_GATES } from "../../src/config/gates/feature-gate-table.ts";
import { type GateSettings, resolveGates } from "../../src/config/gates/feature-gates.ts";
import { gateNeeds } from "../../src/config/gates/gate-needs.ts";
import { gatesOfRelease } from "../../src/config/gates/release-gates.ts";
import { goKubelet, goKubeletObstacle } from "../agent/go-kubelet.ts";

const skip = goKubeletObstacle() ?? false;
const folder = mkdtempSync(join(tmpdir(), "nodelet-go-config-"));
after(() => rmSync(folder, { recursive: true }));

/** What a Go kubelet writes until it exits for `maxPods: -1`, or before. */
function outputOf(body: string, ...flags: readonly string[]): string {
  const path = join(folder, "config.yaml");
  const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  writeFileSync(path, `${head}failCgroupV1: false\nmaxPods: -1\n${body}\n`);
  const places = [`--root-dir=${folder}/root`, `--cert-dir=${folder}/pki`];
  const { status, stdout, stderr } = spawnSync(
    goKubelet() ?? "",
    [`--config=${path}`, ...places, ...flags],
    { encoding: "utf8", timeout: 60_000 },
  );
  assert.notEqual(status, 0, "it must not start");
  return `${stdout}${stderr}`;
}

const gatesIn = (settings: GateSettings) => `featureGates: ${JSON.stringify(settings)}`;
const MAX_PODS = "maxPods (--max-pods) -1 must not be a negative number";

test("the Go kubelet has the same gates: those that it shows, and all others by their names", {
  skip,
}, () => {
  const { stdout } = spawnSync(goKubelet() ?? "", ["--help"], { encoding: "utf8" });
  const shown = [
    ...stdout.matchAll(/^ +(?:kube:)?(\w+)=true\|false \((ALPHA|BETA) - default=(\w+)\)/gm),
  ]
    .map(([, name = "", stage, isOn]) => `${name} ${stage} ${isOn}`)
    .filter((line) => !/^All(?:Alpha|Beta) /.test(line));
  const ours = FEATURE_GATES.filter(({ stage }) => stage === "alpha" || stage === "beta").map(
    ({ name, stage, default: isOn }) => `${name} ${stage.toUpperCase()} ${isOn}`,
  );
  assert.deepEqual(shown.toSorted(), ours.toSorted());
  const all = Object.fromEntries(FEATURE_GATES.map(({ name, default: isOn }) => [name, isOn]));
  const output = outputOf(gatesIn(all));
  assert.doesNotMatch(output, /unrecognized feature gate|cannot set feature gate|depends on/);
  assert.ok(output.includes(MAX_PODS), output);
});

test("the Go kubelet refuses the gates that are refused here, in the same words", { skip }, () => {
  const now = new Map(FEATURE_GATES.map((gate) => [gate.name, gate]));
  const before = gatesOfRelease("1.36");
  const removed = before.filter(({ name }) => !now.has(name)).map(({ name }) => ({ [name]: true }));
  const locked = before
    .filter(({ name, locked: wasLocked }) => !wasLocked && now.get(name)?.locked === true)
    .map(({ name }) => ({ [name]: now.get(name)?.default !== true }));
  const free = [...gateNeeds("1.37")].flatMap(([gate, needs]) =>
    needs
      .filter((need) => now.get(need)?.locked === false)
      .map((need) => ({ [gate]: true, [need]: false })),
  );
  const settings: readonly GateSettings[] = [...removed, ...locked, ...free, { AllAlpha: true }];
  assert.ok(settings.length > 50, `${settings.length} settings`);
  for (const each of settings) {
    const { problems } = resolveGates(each);
    assert.ok(problems.length > 0, JSON.stringify(each));
    const output = outputOf(gatesIn(each));
    for (const { message } of problems)
      assert.ok(output.includes(message), `${message}\n${output}`);
    assert.equal(output.split("but depends on features").length - 1, dependencies(problems));
  }
});

/** How many of the problems are about gates that others need. */
function dependencies(problems: readonly { readonly message: string }[]): number {
  return problems.filter(({ message }) => message.includes("but depends on features")).length;
}

test("the Go kubelet takes gates that leave nothing out", { skip }, () => {
  for (const settings of [{ AllAlpha: true, AllBeta: true }, { AllBeta: false }]) {
    assert.deepEqual(resolveGates(settings).problems, []);
    assert.ok(outputOf(gatesIn(settings)).includes(MAX_PODS), JSON.stringify(settings));
  }
});

test("the Go kubelet ignores compat with a note, and exits for a flag that is ignored here", {
  skip,
}, () => {
  const output = outputOf('compat: "1.36"');
  assert.match(output, /Using lenient decoding.*unknown field \\?"compat\\?"/);
  assert.ok(output.includes(MAX_PODS));
  assert.match(outputOf("", "--containerd=/x"), /unknown flag: --containerd/);
});
