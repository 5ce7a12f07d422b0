import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus, Pod, PodStatus } from "../../api/generated/types.ts";
import { podStatusProblems } from "../../api/validation/pod-status.ts";
import { writableStatus } from "./writable-status.ts";

const of = (name: string, state: ContainerStatus["state"], restartCount = 0): ContainerStatus => ({
  name,
  image: "i",
  imageID: "",
  ready: false,
  restartCount,
  ...(state ? { state } : {}),
});
const ended = { terminated: { exitCode: 0 } };
const runs = { running: {} };

function known(restartPolicy: string): Pod {
  return {
    metadata: { name: "p", uid: "u" },
    spec: {
      restartPolicy,
      initContainers: [{ name: "prep", image: "i" }],
      containers: [
        { name: "a", image: "i" },
        { name: "b", image: "i" },
      ],
    },
    status: {
      phase: "Running",
      initContainerStatuses: [of("prep", ended)],
      containerStatuses: [of("a", ended), of("b", runs)],
    },
  };
}

const own: PodStatus = {
  phase: "Pending",
  conditions: [{ type: "Ready", status: "False" }],
  initContainerStatuses: [of("prep", runs, 1)],
  containerStatuses: [of("a", runs, 1), of("b", ended)],
};

test("writableStatus: what the API refuses stays as it has it, the rest gets there", () => {
  const pod = known("OnFailure");
  const { status, heldBack } = writableStatus(pod, own);
  assert.deepEqual(status, {
    ...own,
    initContainerStatuses: [of("prep", ended)],
    containerStatuses: [of("a", ended), of("b", ended)],
  });
  assert.deepEqual(heldBack, [
    "terminated container a attempted illegal transition to non-terminated state",
    "terminated init container prep attempted illegal transition to non-terminated state",
  ]);
  assert.notDeepEqual(podStatusProblems({ ...pod, status: own }, pod), []);
  assert.deepEqual(podStatusProblems({ ...pod, status }, pod), []);
});

test("writableStatus: what the API takes is not touched", () => {
  assert.deepEqual(writableStatus(known("Always"), own), { status: own, heldBack: [] });
});
