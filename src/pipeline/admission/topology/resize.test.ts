import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, aPod } from "../../../../test/support/pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { HintProvider } from "../../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../../api/resource-grant.ts";
import { MetricsRegistry } from "../../../kit/metrics.ts";
import { Topology } from "./topology.ts";

const SHORT: ResourceGrant = { kind: "refused", reason: "Short", message: "too few" };

const podOf = (image: string): IdentifiedPod =>
  aPod({ containers: [aContainer("main", { image })] });

/** Providers that note for which image they grant; the one named `short` has nothing for the new one. */
function topologyOf(providers: Readonly<Record<string, boolean>>, short: string | undefined) {
  const calls: string[] = [];
  const each = Object.entries(providers).map(
    ([name, resizes]): HintProvider => ({
      resizes,
      draft: () => undefined,
      grant: async ({ spec }) => {
        const image = spec?.containers[0]?.image ?? "";
        calls.push(`${name} ${image}`);
        return name === short && image === "new" ? SHORT : { kind: "granted" };
      },
    }),
  );
  const settings = { policy: "none", scope: "container", nodes: [0], distances: [] } as const;
  const deps = { providers: each, metrics: new MetricsRegistry(), clock: new SimClock() };
  return { topology: new Topology(settings as never, deps), calls };
}

test("a pod that is resized is granted what it requests by providers that can change it, by all or none", async () => {
  const rows: readonly (readonly [string | undefined, string, readonly string[]])[] = [
    [undefined, "granted", ["cpus new", "memory new"]],
    ["cpus", "refused", ["cpus new"]],
    ["memory", "refused", ["cpus new", "memory new", "cpus old"]],
    ["devices", "granted", ["cpus new", "memory new"]],
  ];
  for (const [short, kind, expected] of rows) {
    const { topology, calls } = topologyOf({ devices: false, cpus: true, memory: true }, short);
    const grant = await topology.resize(podOf("old"), podOf("new"));
    assert.equal(grant.kind, kind, `${short}`);
    assert.deepEqual(calls, expected, `${short}`);
  }
});
