// The message of a pod that cannot be placed as the policy says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, aPod } from "../../../../test/support/pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { HintDraft, HintProvider } from "../../../api/ports/hint-provider.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import { MetricsRegistry } from "../../../kit/metrics.ts";
import { Topology } from "./topology.ts";

/** A provider that fits the container on no set of nodes. */
const full: HintProvider = {
  draft: (): HintDraft => ({
    containers: new Set(["main"]),
    hints: () => [[]],
    podHints: () => [[]],
    place: () => undefined,
  }),
  grant: async () => ({ kind: "granted" }),
  resizes: false,
};
const single: IdentifiedPod = aPod({ containers: [aContainer("main")] });
const amounts = { cpu: "2", memory: "1Gi" };
const whole: IdentifiedPod = aPod({
  containers: [aContainer("main")],
  resources: { requests: amounts, limits: amounts },
});

async function messageFor(
  pod: IdentifiedPod,
  settings: Pick<TopologySettings, "scope" | "knowsWholePods">,
): Promise<string> {
  const topology = new Topology(
    { policy: "restricted", nodes: [0, 1], ...settings },
    { providers: [full], metrics: new MetricsRegistry(), clock: new SimClock() },
  );
  const grant = await topology.grant(pod);
  assert.equal(grant.kind, "refused");
  assert.equal("reason" in grant && grant.reason, "TopologyAffinityError");
  return "message" in grant ? grant.message : "";
}

test("the message names the scope for a pod with amounts as a whole, where managers know such pods", async () => {
  const usual = "Resources cannot be allocated with Topology locality";
  const ofWhole = "Pod Scope pod with pod-level resources failed admission";
  for (const scope of ["container", "pod"] as const) {
    assert.equal(await messageFor(whole, { scope }), usual);
    assert.equal(await messageFor(single, { scope, knowsWholePods: true }), usual);
  }
  assert.equal(
    await messageFor(whole, { scope: "pod", knowsWholePods: true }),
    `${ofWhole} under pod-scope topology manager`,
  );
  assert.equal(
    await messageFor(whole, { scope: "container", knowsWholePods: true }),
    `${ofWhole} with a container-level topology manager`,
  );
});
