// The contract of the runtime against real containerd, in a box of its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import { type Box, startBox } from "../box/box.ts";
import { type ContainerdVersion, usualContainerd } from "../box/containerd.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { findProgram } from "../box/prerequisites.ts";
import { leaveHybrid } from "../support/hybrid-cgroups.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Bench, type RuntimeUnderTest, runtimeContract } from "./runtime-contract.ts";

const SIGNAL = new AbortController().signal;

const VERSIONS: readonly ContainerdVersion[] = ["machine", "1.7", "2.1"];
/** It is built for a whole run only. */
const TODAYS = usualContainerd() === "2.4" ? (["2.4"] as const) : [];

for (const containerd of [...VERSIONS, ...TODAYS]) {
  runtimeContract(`containerd ${containerd}`, async () =>
    underTest(await startBox({ containerd })),
  );

  test(`containerd ${containerd}: a container with a task that the CRI service does not know is removed`, async () => {
    const box = await startBox({ containerd });
    await using under = underTest(box);
    const bench = new Bench(under);
    const id = await bench.container(await bench.sandbox(), { kind: "sleep" });
    // As a StartContainer leaves it that was cancelled while runc created the process.
    await box.ctr("tasks", "start", "--detach", "--null-io", id);
    await bench.runtime.removeContainer(id, SIGNAL);
    assert.deepEqual(await bench.runtime.listContainers({ id }, SIGNAL), []);
    assert.ok(!(await box.ctr("tasks", "list", "-q")).includes(id));
  });
}

/** Installed for a whole run only; what `up` makes the default where it runs containers. */
if (findProgram("crun") !== undefined)
  runtimeContract("containerd machine with crun", async () => {
    const box = await startBox({ containerd: "machine", runc: "crun" });
    await leaveHybrid(box);
    return underTest(box);
  });

function underTest(box: Box): RuntimeUnderTest {
  const cri = connectCri({
    runtimeEndpoint: `unix://${box.criSocket}`,
    timeoutMs: 60_000 * TIMEOUT_FACTOR,
  });
  return {
    cri,
    image: TEST_IMAGE,
    logs: "/var/log/pods",
    run: (work) => work,
    pass: (ms) => sleep(ms),
    [Symbol.asyncDispose]: async () => {
      cri.close();
      await box[Symbol.asyncDispose]();
    },
  };
}
