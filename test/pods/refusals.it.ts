// What this runtime cannot do is reported, not left out silently.
import assert from "node:assert/strict";
import { test } from "node:test";
import { staying, withNode } from "../volumes/world.ts";

test("a stop signal that the runtime would not send is refused with a reason", () =>
  withNode(async ({ agent }) => {
    agent.apply("pod.yaml", {
      metadata: { name: "pod" },
      spec: {
        os: { name: "linux" },
        containers: [staying("main", { lifecycle: { stopSignal: "SIGUSR1" } })],
      },
    });
    const waiting = () => agent.status()?.containerStatuses?.[0]?.state?.waiting;
    await agent.until("it is refused", () => waiting()?.reason === "CreateContainerConfigError");
    const message = "this container runtime does not support custom stop signals";
    assert.equal(waiting()?.message, message);
  }));
