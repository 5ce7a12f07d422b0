// A node that keeps the gates, defaults and version of Kubernetes 1.36 in its cluster.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inCluster } from "./cluster-world.ts";

for (const [compat, version] of [
  [undefined, /^v1\.37\.\d+\+nodelet/],
  ["1.37", /^v1\.37\.\d+\+nodelet/],
  ["1.36", /^v1\.36\.\d+\+nodelet/],
] as const)
  test(`with compat ${compat} the node reports ${version}`, () =>
    inCluster(
      async ({ world, node, create, pod }) => {
        await world.advance(15_000);
        assert.match(node()?.status?.nodeInfo?.kubeletVersion ?? "", version);
        create("web", { kind: "sleep" });
        await world.advance(15_000);
        assert.equal(pod("web")?.status?.phase, "Running");
      },
      {},
      { config: compat === undefined ? {} : { compat } },
    ));
