// Probes of a pod that is being ended, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { conditionOf, inCluster, podOf } from "./cluster-world.ts";
import { commandOf, type Program } from "./programs.ts";

const SLEEP: Program = { kind: "sleep" };

test("a readiness probe by exec goes on while the pod's preStop hook runs, and Ready follows it", () =>
  inCluster(async ({ world, api, pod }) => {
    const base = podOf("web", SLEEP, "Always");
    const [main] = (base["spec"] as NonNullable<Pod["spec"]>).containers;
    const ready = commandOf({ kind: "exit", code: 0, afterMs: 0 });
    const spec = {
      ...(base["spec"] as object),
      terminationGracePeriodSeconds: 60,
      containers: [
        {
          ...main,
          readinessProbe: { exec: { command: ready }, periodSeconds: 1, failureThreshold: 1 },
          lifecycle: { preStop: { sleep: { seconds: 20 } } },
        },
      ],
    };
    await world.advance(3_000);
    api.objects.create({ collection: "pods", namespace: "default" }, { ...base, spec });
    await world.advance(10_000);
    assert.equal(conditionOf(pod("web"), "Ready"), "True");
    api.objects.delete({ collection: "pods", namespace: "default", name: "web" }, {});
    await world.advance(5_000);
    assert.equal(conditionOf(pod("web"), "Ready"), "True");
    assert.equal(world.runtime.sandboxes.size, 1, "the hook runs");
    world.runtime.options.commandFault = 1;
    await world.advance(5_000);
    assert.equal(conditionOf(pod("web"), "Ready"), "False");
    assert.equal(pod("web")?.status?.phase, "Running");
    await world.advance(60_000);
    assert.equal(pod("web"), undefined);
  }));
