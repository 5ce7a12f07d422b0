import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, Pod } from "../../api/generated/types.ts";
import { componentFailure } from "./component-failure.ts";

const SINCE = Date.parse("2026-11-29T12:00:00.500Z");
const LABELS = { component: "kube-apiserver", tier: "control-plane" };

function pod(states: { state?: ContainerState; lastState?: ContainerState }, labels = LABELS): Pod {
  const container = {
    name: "x",
    image: "x",
    imageID: "",
    ready: false,
    restartCount: 0,
    ...states,
  };
  return { metadata: { name: "x", labels }, status: { containerStatuses: [container] } };
}

const ended = (finishedAt: string, exitCode = 1) => ({ terminated: { exitCode, finishedAt } });

for (const [name, given, problem] of [
  ["a new container", pod({ state: { waiting: { reason: "ContainerCreating" } } }), undefined],
  ["one that runs", pod({ state: { running: {} } }), undefined],
  [
    "one whose image cannot be had",
    pod({ state: { waiting: { reason: "ErrImagePull", message: "not found" } } }),
    "ErrImagePull: not found",
  ],
  [
    "one that has ended again",
    pod({
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: ended("2026-11-29T12:00:00Z"),
    }),
    "it ended with code 1",
  ],
  [
    "one that has ended without an error",
    pod({ state: ended("2026-11-29T12:00:02Z", 0) }),
    undefined,
  ],
  [
    "one that runs again after an end before",
    pod({ state: { running: {} }, lastState: ended("2026-11-29T11:59:58Z") }),
    undefined,
  ],
  [
    "another pod",
    pod({ state: ended("2026-11-29T12:00:02Z") }, { ...LABELS, tier: "" }),
    undefined,
  ],
] as const)
  test(`componentFailure: ${name}`, () =>
    assert.equal(componentFailure(given, SINCE)?.problem, problem));
