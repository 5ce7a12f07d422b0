import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../test/sim/sim-clock.ts";
import { aFact } from "../../test/support/pod-facts.ts";
import type { Pod } from "../api/generated/types.ts";
import type { PodUid } from "../api/observation.ts";
import type { PodFact, PodLifeName } from "../api/pod-facts.ts";
import { identifyPod } from "../api/pod-identity.ts";
import { Cell } from "../kit/cell.ts";
import { CellMap } from "../kit/cell-map.ts";
import { OutsideError } from "../kit/errors.ts";
import { silentLog } from "../kit/log.ts";
import { TaskScope } from "../kit/scope.ts";
import type { NodeEnforcement } from "../subsystems/cgroups/cgroups.ts";
import { startCgroupLoop } from "./cgroup-loop.ts";

function scene() {
  const clock = new SimClock();
  const seen = new Cell(false);
  const podFacts = new CellMap<PodUid, PodFact>();
  const passes: string[][] = [];
  const events: string[] = [];
  const at = {
    enforcement: { kind: "enforced" } as NodeEnforcement,
    failing: false,
    enforceNode: async () => {
      at.enforcement = { kind: "enforced" };
      return at.enforcement;
    },
    updateQos: async (pods: readonly Pod[]) => {
      passes.push(pods.map(({ metadata }) => metadata?.uid ?? ""));
      if (at.failing) throw new OutsideError("io", "no");
    },
  };
  const put = (uid: string, life: PodLifeName, pod: Pod = { metadata: { uid } }) =>
    podFacts.set(uid as PodUid, aFact(identifyPod(pod), { life }));
  const scope = new TaskScope("test", { clock, log: silentLog });
  const reported = { ofNode: ({ reason }: { readonly reason: string }) => events.push(reason) };
  startCgroupLoop({
    outside: { clock, log: silentLog },
    scope,
    pipeline: { podFacts, seen },
    cgroups: at,
    events: reported as never,
  });
  return { clock, seen, put, passes, events, at, scope };
}

test("the classes follow the active pods: at once when one comes or goes, else every minute", async () => {
  const { clock, seen, put, passes, at, scope } = scene();
  put("a", "running");
  await clock.advance(120_000);
  assert.deepEqual(passes, [], "not before every source was seen");
  seen.set(true);
  await clock.advance(0);
  assert.deepEqual(passes, [["a"]]);
  put("b", "waiting");
  await clock.advance(10);
  assert.equal(passes.length, 1, "a pod that waits changes nothing");
  const pod = identifyPod({ metadata: { uid: "b" } });
  put("b", "running", pod);
  await clock.advance(10);
  assert.deepEqual(passes.at(-1), ["a", "b"]);
  put("b", "running", pod);
  await clock.advance(10);
  assert.equal(passes.length, 2, "nor does a new status");
  put("b", "running", { metadata: { uid: "b" }, spec: { containers: [] } });
  await clock.advance(10);
  assert.equal(passes.length, 3, "but a changed spec does");
  put("a", "terminated");
  at.failing = true;
  await clock.advance(10);
  assert.deepEqual(passes.at(-1), ["b"]);
  await clock.advance(60_000);
  assert.equal(passes.length, 5, "and a failure is tried again");
  await scope[Symbol.asyncDispose]();
});

test("limits of the node that failed are tried again and spoken of", async () => {
  const { clock, seen, events, at, scope } = scene();
  at.enforcement = { kind: "failed", message: "no" };
  seen.set(true);
  await clock.advance(60_000);
  assert.deepEqual(events, ["NodeAllocatableEnforced"]);
  await scope[Symbol.asyncDispose]();
});
