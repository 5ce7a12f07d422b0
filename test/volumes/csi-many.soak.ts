// Fifty pods at once with a claim each, beside the same pods with an emptyDir: when the last is Ready (NODELET_CSI_PODS says how many).
import assert from "node:assert/strict";
import { test } from "node:test";
import { PODS, podOf } from "../kube/cluster-node.ts";
import { type CsiNodeBox, csiObstacle, DRIVER, STORAGE, withDriver } from "./csi-node-box.ts";
import { staying } from "./world.ts";

const COUNT = Number(process.env["NODELET_CSI_PODS"] ?? 50);
/** The last with a claim may take so much longer. */
const RATIO = 1.3;

/** Seconds until the last of the pods is Ready; they are gone afterwards. */
async function lastReady(
  csi: CsiNodeBox,
  kind: string,
  volumeOf: (number: number) => object,
): Promise<number> {
  const before = await csi.traces();
  const began = performance.now();
  const numbers = Array.from({ length: COUNT }, (_, number) => number);
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  await Promise.all(
    numbers.map((number) =>
      csi.node.server.must(
        "POST",
        PODS,
        podOf(`${kind}-${number}`, {
          containers: [staying("main", { volumeMounts })],
          volumes: [{ name: "data", ...volumeOf(number) }],
        }),
      ),
    ),
  );
  for (const number of numbers) await csi.node.untilReady(`${kind}-${number}`);
  const seconds = (performance.now() - began) / 1000;
  for (const number of numbers) await csi.remove(`${kind}-${number}`);
  await csi.untilGone(before);
  return seconds;
}

test(
  `${COUNT} pods with a claim each start about as fast as with an emptyDir`,
  {
    skip: csiObstacle() ?? false,
  },
  (t) =>
    withDriver(async (csi) => {
      await csi.node.server.must("POST", `${STORAGE}/csidrivers`, {
        metadata: { name: DRIVER },
        spec: { attachRequired: false },
      });
      for (let number = 0; number < COUNT; number += 1) await csi.claimed(`claim-${number}`);
      const figures: { empty: number; claim: number }[] = [];
      for (let round = 0; round < 2; round += 1) {
        const empty = await lastReady(csi, `empty-${round}`, () => ({ emptyDir: {} }));
        const claim = await lastReady(csi, `claim-${round}`, (number) => ({
          persistentVolumeClaim: { claimName: `claim-${number}` },
        }));
        figures.push({ empty, claim });
        console.error(
          `last Ready of ${COUNT}: emptyDir ${empty.toFixed(1)} s, claim ${claim.toFixed(1)} s`,
        );
      }
      const best = (of: "empty" | "claim") => Math.min(...figures.map((each) => each[of]));
      const ratio = best("claim") / best("empty");
      t.diagnostic(`ratio ${ratio.toFixed(2)}`);
      assert.ok(ratio <= RATIO, JSON.stringify(figures));
    }),
);
