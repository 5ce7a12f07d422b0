import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  type Given,
  type RecordChanges,
} from "../../../../test/support/pods.ts";
import type { ContainerKind } from "../../../api/pod/pod.ts";
import { type ContainerStanding, standingsOf } from "./standing.ts";
import { ATTEMPTS, podWith, ROWS } from "./standing.vectors.ts";

const KINDS: readonly ContainerKind[] = ["init", "sidecar", "regular", "ephemeral"];

function standingOf(given: Given, more?: RecordChanges, name = "c"): ContainerStanding {
  const { init, regular, ephemeral } = standingsOf(aRecord(given, more));
  const found = [...init, ...regular, ...ephemeral].find(
    ({ container }) => container.name === name,
  );
  assert.ok(found);
  return found;
}

const inShort = ({ restart }: ContainerStanding) => (restart ? (restart.restart ? "y" : "n") : "-");

for (const [state, byKind] of ROWS)
  for (const kind of KINDS)
    test(`standingsOf: a container that is ${kind}, ${state}`, () => {
      const containers = ATTEMPTS[state];
      const standings = (["Always", "OnFailure", "Never"] as const).map((policy) =>
        standingOf({ pod: podWith(kind, policy), containers }),
      );
      const [first] = standings;
      assert.equal(first?.kind, kind);
      const flags = `${first?.started ? "s" : ""}${first?.ready ? "r" : ""}`;
      assert.deepEqual([standings.map(inShort).join(""), flags], byKind[kind]);
      assert.deepEqual(first?.attempts, containers);
    });

const PROBED = aPod({ containers: [aContainer("c", { startupProbe: {}, readinessProbe: {} })] });

test("standingsOf: started and ready once the probes of this attempt say so", () => {
  const flags = (verdicts: object, containerId = "c-0") => {
    const probes = { c: { containerId, ...verdicts } };
    const given = { pod: PROBED, containers: [anAttempt("c")] };
    const { started, ready } = standingOf(given, { tracked: { probes } });
    return [started, ready];
  };
  assert.deepEqual(flags({}), [false, false]);
  assert.deepEqual(flags({ readiness: "success" }), [false, false]);
  assert.deepEqual(flags({ startup: "success" }), [true, false]);
  assert.deepEqual(flags({ startup: "success", readiness: "failure" }), [true, false]);
  assert.deepEqual(flags({ startup: "success", readiness: "success" }), [true, true]);
  assert.deepEqual(flags({ startup: "success", readiness: "success" }, "c-1"), [false, false]);
});

test("standingsOf: the last end is that of the newest attempt, or of one that the runtime lost", () => {
  const pod = podWith("regular", "OnFailure");
  const end = (containers: Given["containers"] = []) =>
    standingOf({ pod, containers }, { tracked: { lost: { c: 137 } } }).end?.exitCode;
  assert.equal(end(), 137);
  assert.equal(end([anEnd("c", 3, { restartCount: 1 }), anEnd("c", 1)]), 3);
  assert.equal(end([anAttempt("c", { restartCount: 1 }), anEnd("c", 1)]), undefined);
});

test("standingsOf: an attempt counts as here in the newest sandbox only", () => {
  const sandboxes = [aSandbox({ id: "sb-1", attempt: 1 }), aSandbox({ ready: false })];
  const pod = podWith("init", "Always");
  const old = anEnd("c", 0);
  const next = anAttempt("c", { sandboxId: "sb-1", restartCount: 1 });
  assert.equal(standingOf({ pod, sandboxes, containers: [old] }).here, undefined);
  assert.equal(standingOf({ pod, sandboxes, containers: [next, old] }).here, next);
  assert.equal(standingOf({ pod, sandboxes: [], containers: [old] }).here, undefined);
});
