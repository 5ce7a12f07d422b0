import assert from "node:assert/strict";
import { test } from "node:test";
import { anAttempt } from "../../../../test/support/pods.ts";
import type { ContainerStatus } from "../../../api/generated/types.ts";
import { lostBefore } from "./lost-containers.ts";

test("lostBefore: what had run by the last status and is not there", () => {
  const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
    name,
    image: "img:1",
    imageID: "",
    ready: false,
    restartCount: 0,
    ...more,
  });
  const containerStatuses = [
    status("ran", { state: { running: {} }, lastState: { terminated: { exitCode: 1 } } }),
    status("here", { state: { running: {} } }),
    status("done", { state: { terminated: { exitCode: 0 } } }),
    status("waits", {
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 3 } },
    }),
    status("new", { state: { waiting: { reason: "ContainerCreating" } } }),
  ];
  const found = { containers: [anAttempt("here")] };
  assert.deepEqual(lostBefore({ containerStatuses }, found), { ran: 137, done: 0, waits: 3 });
  assert.deepEqual(lostBefore(undefined, found), {});
});
