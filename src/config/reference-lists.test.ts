// Flags, gates and fields against the lists of the Go kubelet 1.36: each has an effect, has none in any kubelet, or
// says that it has none here. `testdata/` holds the kubelet's own lists, one entry a line.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FIELDS } from "./fields/fields.ts";
import { FLAGS } from "./flags/flag-table.ts";
import { parseFlags } from "./flags/flags.ts";
import { ACTIVE_GATES, FEATURE_GATES } from "./gates/feature-gate-table.ts";
import { resolveGates } from "./gates/feature-gates.ts";

const SRC = join(import.meta.dirname, "..");

function table(name: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(import.meta.dirname, "testdata", name), "utf8");
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const columns = head.split("\t");
  return lines.map((line) => {
    const cells = line.split("\t");
    return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? ""]));
  });
}

const GATES = table("gates-1.36.tsv");
const KUBELET_FLAGS = table("flags-1.36.tsv");

/** All sources outside of this folder, and those of it that decide: where an effect must be. */
const SOURCES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !/\.(test|vectors)\.ts$|generated/.test(path))
  .map((path) => ({ path, text: readFileSync(join(SRC, path), "utf8") }));
const USERS = SOURCES.filter(({ path }) => !path.startsWith("config/"))
  .concat(SOURCES.filter(({ path }) => /^config\/(derive|image-policy|hardening)\.ts$/.test(path)))
  .map(({ text }) => text)
  .join("\n");

/** Gates that components of Kubernetes register beside the list of the API server and the kubelet. */
const REGISTERED_ELSEWHERE = new Set(
  `CSIMigrationPortworx ComponentSLIs ContextualLogging ControllerManagerReleaseLeaderElectionLockOnExit
   CustomCPUCFSQuotaPeriod DynamicResourceAllocation HonorPVReclaimPolicy InPlacePodVerticalScalingAllocatedStatus
   LoggingAlphaOptions LoggingBetaOptions MemoryManager NativeHistograms ServiceTrafficDistribution
   StatefulSetSemanticRevisionComparison StructuredAuthorizationConfiguration TopologyAwareHints
   WatchFromStorageWithoutResourceVersion WatchList`.split(/\s+/),
);

test("every gate of 1.36 is known, with its stage, default and lock", () => {
  assert.ok(GATES.length > 200);
  const byName = new Map(FEATURE_GATES.map((gate) => [gate.name, gate]));
  for (const { gate = "", stage = "", default: fallback, locked } of GATES) {
    const found = byName.get(gate);
    const has = found && [found.stage.toLowerCase(), String(found.default), found.locked];
    assert.deepEqual(has, [stage.toLowerCase(), fallback, locked === "locked"], gate);
  }
  const listed = new Set(GATES.map(({ gate }) => gate));
  const others = FEATURE_GATES.filter(({ name }) => !listed.has(name)).map(({ name }) => name);
  assert.deepEqual(new Set(others), REGISTERED_ELSEWHERE);
});

test("every gate has an effect, or says that it has none when it is set", () => {
  for (const { name, default: fallback, locked } of FEATURE_GATES) {
    if (locked) continue;
    const { warnings } = resolveGates({ [name]: fallback });
    const isAnnounced = warnings.includes(`feature gate ${name} has no effect in nodelet`);
    assert.equal(isAnnounced, !ACTIVE_GATES.has(name), name);
  }
});

test("gates documented as effective are read in the sources, and all others are not", () => {
  // Asked for by rules of the configuration alone, whose features do not exist here.
  const rulesOnly = ["LoggingAlphaOptions"];
  const scaling = [...USERS.matchAll(/isOn\("(\w+)"\)/g)].map(([, name]) => `InPlacePod${name}`);
  const asked = SOURCES.flatMap(({ text }) => [
    ...text.matchAll(/isEnabled\("(\w+)"\)|featureGates\["(\w+)"\]/g),
  ]).map(([, enabled, set]) => enabled ?? set ?? "");
  const names = new Set([...asked, ...scaling].filter((name) => !rulesOnly.includes(name)));
  assert.deepEqual([...names].sort(), [...ACTIVE_GATES].sort());
});

test("every flag of the Go kubelet 1.36 is accepted", () => {
  assert.ok(KUBELET_FLAGS.length >= 150);
  const known = new Map(FLAGS.map((flag) => [flag.name, flag]));
  for (const { flag = "" } of KUBELET_FLAGS) {
    const spec = known.get(flag);
    assert.ok(spec, `--${flag} is not known`);
    assert.notEqual(spec.target.kind, "refused", flag);
  }
});

test("every flag sets a field, has an effect of its own, or says that it has none", () => {
  for (const { name, target, noEffect, deprecated, type } of FLAGS) {
    if (target.kind === "refused" || name === "help" || name === "version") continue;
    if (target.kind === "ignored") assert.ok(deprecated, name);
    if (target.kind === "flag")
      assert.equal(noEffect === undefined, new RegExp(`\\b${target.key}\\b`).test(USERS), name);
    if (noEffect === undefined) continue;
    const value = { bool: "true", duration: "1s", string: "x" }[type as "bool"];
    const { warnings } = parseFlags([`--${name}=${value}`]);
    assert.ok(
      warnings.some((line) => line.startsWith(`Flag --${name} has no effect`)),
      name,
    );
  }
});

test("every field documented as effective is read outside of the configuration", () => {
  const unread = FIELDS.filter(({ path, effect }) => {
    const last = path.split(".").at(-1) ?? "";
    return effect === "active" && !new RegExp(`\\b${last}\\b`).test(USERS);
  });
  assert.deepEqual(
    unread.map(({ path }) => path),
    [],
  );
});
