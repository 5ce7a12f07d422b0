// Flags, gates and fields against the lists of the Go kubelet 1.37, and gates against that of 1.36: each has an effect, has none in any kubelet, or
// says that it has none here. `testdata/` holds the kubelet's own lists, one entry a line.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FIELDS } from "./fields/fields.ts";
import { FLAGS } from "./flags/flag-table.ts";
import { parseFlags } from "./flags/flags.ts";
import { isRemovedIn137 } from "./flags/removed-flags.ts";
import { ACTIVE_GATES, FEATURE_GATES } from "./gates/feature-gate-table.ts";
import { resolveGates } from "./gates/feature-gates.ts";
import { gateNeeds } from "./gates/gate-needs.ts";
import { gatesOfRelease } from "./gates/release-gates.ts";
import { RELEASES, type Release } from "./release.ts";

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

const GATES = { "1.36": table("gates-1.36.tsv"), "1.37": table("gates-1.37.tsv") };
const KUBELET_FLAGS = { "1.36": table("flags-1.36.tsv"), "1.37": table("flags-1.37.tsv") };

/** All sources outside of this folder, and those of it that decide: where an effect must be. */
const SOURCES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !/\.(test|vectors)\.ts$|generated/.test(path))
  .map((path) => ({ path, text: readFileSync(join(SRC, path), "utf8") }));
const USERS = SOURCES.filter(({ path }) => !path.startsWith("config/"))
  .concat(SOURCES.filter(({ path }) => /^config\/(derive|image-policy|hardening)\.ts$/.test(path)))
  .map(({ text }) => text)
  .join("\n");

/** Gates that 1.36 registers as well, outside of the list that was taken. */
const ALSO_IN_1_36 =
  `ContextualLogging ControllerManagerReleaseLeaderElectionLockOnExit CustomCPUCFSQuotaPeriod DynamicResourceAllocation LoggingAlphaOptions LoggingBetaOptions
   NativeHistograms StatefulSetSemanticRevisionComparison WatchList`.split(/\s+/);

for (const release of RELEASES)
  test(`every gate of ${release} is known, with its stage, default and lock`, () => {
    assert.ok(GATES[release].length > 200);
    const byName = new Map(gatesOfRelease(release).map((gate) => [gate.name, gate]));
    for (const { gate = "", stage = "", default: fallback, locked } of GATES[release]) {
      const found = byName.get(gate);
      const has = found && [found.stage.toLowerCase(), String(found.default), found.locked];
      assert.deepEqual(has, [stage.toLowerCase(), fallback, locked === "locked"], gate);
    }
  });

const namesOf = (release: Release) => new Set(GATES[release].map(({ gate = "" }) => gate));

test("no gate is known that 1.37 does not have", () => {
  assert.deepEqual(new Set(FEATURE_GATES.map(({ name }) => name)), namesOf("1.37"));
});

for (const release of RELEASES)
  test(`gates depend on others as in ${release}`, () => {
    const needs = gateNeeds(release);
    const listed = table(`gate-needs-${release}.tsv`);
    assert.ok(listed.length > 40);
    for (const { gate = "", needs: expected = "" } of listed)
      assert.deepEqual(needs.get(gate), expected.split(" "), gate);
    const names = new Set(listed.map(({ gate }) => gate));
    for (const gate of needs.keys())
      assert.ok(names.has(gate) || !namesOf(release).has(gate), `${gate} depends on nothing`);
  });

test("with compat 1.36 the gates that only 1.37 has are off", () => {
  const known = new Set([...namesOf("1.36"), ...ALSO_IN_1_36]);
  const added = gatesOfRelease("1.36").filter(({ name }) => !known.has(name));
  assert.ok(added.length > 30);
  for (const { name, default: isOn } of added) {
    assert.ok(namesOf("1.37").has(name), name);
    assert.equal(isOn, false, name);
  }
});

test("a gate that 1.37 removed is refused by its name, one that it locked by its value", () => {
  const before = gatesOfRelease("1.36");
  const now = new Map(FEATURE_GATES.map((gate) => [gate.name, gate]));
  const removed = before.filter(({ name }) => !now.has(name));
  assert.equal(removed.length, 25);
  for (const { name, default: fallback } of removed) {
    const { problems } = resolveGates({ [name]: fallback });
    assert.match(problems[0]?.message ?? "", new RegExp(`^unrecognized feature gate: ${name}$`));
  }
  const locked = before.filter(({ name, locked }) => !locked && now.get(name)?.locked === true);
  assert.ok(locked.length >= 9);
  for (const { name } of locked) {
    const lockedTo = now.get(name)?.default;
    const { problems } = resolveGates({ [name]: lockedTo !== true });
    const words = `cannot set feature gate ${name} to ${lockedTo !== true}, feature is locked to ${lockedTo}`;
    assert.equal(problems[0]?.message, words);
  }
});

test("the gates in force are taken from the whole configuration, compat included", () => {
  const callers = SOURCES.filter(
    ({ path, text }) => !path.startsWith("config/") && /\bresolveGates\(/.test(text),
  );
  assert.deepEqual(
    callers.map(({ path }) => path),
    [],
    "use gatesInForce",
  );
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

for (const release of RELEASES)
  test(`every flag of the Go kubelet ${release} is accepted`, () => {
    assert.ok(KUBELET_FLAGS[release].length >= 130);
    const known = new Map(FLAGS.map((flag) => [flag.name, flag]));
    for (const { flag = "" } of KUBELET_FLAGS[release]) {
      const spec = known.get(flag);
      assert.ok(spec, `--${flag} is not known`);
      assert.notEqual(spec.target.kind, "refused", flag);
    }
  });

test("a flag that 1.37 removed is ignored with a warning that names it", () => {
  const now = new Set(KUBELET_FLAGS["1.37"].map(({ flag }) => flag));
  const removed = KUBELET_FLAGS["1.36"].filter(({ flag }) => !now.has(flag));
  // Eighteen of cAdvisor, and one that is not upstream's: it was listed with OpenShift's kubelet.
  assert.equal(removed.length, 19);
  for (const { flag = "", type } of removed) {
    const { warnings, problems } = parseFlags([`--${flag}=${type === "bool" ? "true" : "1m0s"}`]);
    assert.deepEqual(problems, [], flag);
    assert.equal(warnings.length, 1, flag);
    assert.match(warnings[0] ?? "", new RegExp(`^Flag --${flag} `));
    assert.equal(isRemovedIn137(flag), flag !== "max-housekeeping-interval", flag);
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

/** Fields that no release has: one of nodelet's own, and one of a later state of the API. */
const OTHER_FIELDS = ["compat", "draManagerReconcilePeriod"];

test("every field of KubeletConfiguration is known, and no other", () => {
  const known = new Set(FIELDS.map(({ path }) => path.split(".", 1)[0] ?? ""));
  for (const release of RELEASES)
    for (const { field = "" } of table(`fields-${release}.tsv`)) assert.ok(known.has(field), field);
  const listed = new Set(table("fields-1.37.tsv").map(({ field }) => field));
  assert.deepEqual([...known].filter((name) => !listed.has(name)).toSorted(), OTHER_FIELDS);
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
