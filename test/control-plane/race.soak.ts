// From a machine with the programs to a Service by its DNS name: nodelet and the Go kubelet, with the same kubeadm, in turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { goMachine } from "./go-machine.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const ROUNDS = 2;
const LIMIT_SECONDS = 90;
/** What two runs of the same differ by on a machine that others use too. */
const NOISE = 1.25;

/** Seconds until the cluster is made, and until a pod reaches two others by the name of their Service. */
async function timed(
  machine: Pick<ClusterMachine, "kubectl">,
  make: () => Promise<unknown>,
): Promise<{ readonly made: number; readonly served: number }> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  await make();
  const made = seconds();
  await serveWeb(machine, 2);
  await startClient(machine, "client");
  await answered(machine, "client");
  return { made, served: seconds() };
}

test("a cluster is there about as soon as with the Go kubelet", { skip }, async (t) => {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    {
      await using machine = await clusterMachine({ hostname: "one" });
      const { made, served } = await timed(machine, async () => {
        const up = await machine.up();
        assert.equal(up.code, 0, up.stdout + up.stderr);
      });
      ours.push(served);
      t.diagnostic(`nodelet: made after ${made.toFixed(0)} s, served after ${served.toFixed(0)} s`);
    }
    // The containerd that nodelet starts as well.
    await using machine = await goMachine({ hostname: "one" }, "machine");
    const { made, served } = await timed(machine, async () => {
      // nodelet starts its own as well.
      await machine.box.restartContainerd();
      await machine.init();
    });
    theirs.push(served);
    t.diagnostic(
      `Go kubelet: made after ${made.toFixed(0)} s, served after ${served.toFixed(0)} s`,
    );
  }
  const [best, other] = [Math.min(...ours), Math.min(...theirs)];
  assert.ok(best <= other * NOISE, `${ours.join()} against ${theirs.join()}`);
  assert.ok(Math.min(...ours) <= LIMIT_SECONDS, `${ours.join()} s`);
});
