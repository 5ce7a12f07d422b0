// Fifty pods with a claim each beside fifty without, on a node of a real control plane: how long until the last is Ready, what
// the driver takes included.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import type { ResourceClaimObject } from "../../src/api/resource-claim-object.ts";
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import {
  type ClusterNode,
  conditionOf,
  NODE,
  PODS,
  podOf,
  withNode,
} from "../kube/cluster-node.ts";
import { ClaimDriver } from "../support/claim-driver.ts";
import { cdiDevice, writeCdi } from "./cdi.ts";
import { allocatedStatus, CLAIMS, claimObject } from "./claim-objects.ts";

const skip = apiServerObstacle() ?? false;
const COUNT = 50;
/** One round of each is for caches and compiled code. */
const ROUNDS = Number(process.env["NODELET_CLAIM_ROUNDS"] ?? 3);
const MAX_RATIO = 1.2;
const DRIVER = "gpu.example.com";
const REGISTRY = "/var/lib/kubelet/plugins_registry";
const FOLDER = `/var/lib/kubelet/plugins/${DRIVER}`;
const LIMIT_MS = 240_000;

const names = (prefix: string) => Array.from({ length: COUNT }, (_, i) => `${prefix}-${i}`);

/** What a scheduler has done before it binds the pod. */
async function addClaim({ server }: ClusterNode, pod: Pod, root: string): Promise<void> {
  const { name = "" } = pod.metadata ?? {};
  const claim = claimObject(name);
  const made = await server.must<ResourceClaimObject>("POST", CLAIMS, claim);
  writeCdi(made.metadata?.uid ?? "", root);
  const status = allocatedStatus({ driver: DRIVER, device: name }, [pod]);
  await server.must("PUT", `${CLAIMS}/${name}/status`, { ...claim, status });
}

/** Milliseconds from the first binding until the last pod is Ready. */
async function round(
  node: ClusterNode,
  prefix: string,
  withClaims: boolean,
  root: string,
): Promise<number> {
  const { server } = node;
  for (const name of names(prefix)) {
    const { nodeName: _, ...spec } = podOf(name).spec ?? { containers: [] };
    const claimed = withClaims
      ? {
          resourceClaims: [{ name: "mine", resourceClaimName: name }],
          containers: spec.containers.map((each) => ({
            ...each,
            resources: { claims: [{ name: "mine" }] },
          })),
        }
      : {};
    const pod = { ...podOf(name), spec: { ...spec, ...claimed } };
    const made = await server.must<Pod>("POST", PODS, pod);
    if (withClaims) await addClaim(node, made, root);
  }
  const began = performance.now();
  for (const name of names(prefix))
    await server.must("POST", `${PODS}/${name}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { apiVersion: "v1", kind: "Node", name: NODE },
    });
  const list = async () => (await node.get<{ items: readonly Pod[] }>(PODS))?.items ?? [];
  await node.agent.until(
    "all are Ready",
    async () => {
      await sleep(100);
      return (await list()).every((pod) => conditionOf(pod, "Ready") === "True");
    },
    LIMIT_MS,
  );
  const ms = performance.now() - began;
  await server.must("DELETE", PODS);
  await node.agent.until("all are gone", async () => (await list()).length === 0, LIMIT_MS);
  if (withClaims) await server.must("DELETE", CLAIMS);
  return ms;
}

test(`${COUNT} pods with a claim each are Ready about as soon as without`, { skip }, (t) =>
  withNode(
    async (node, box) => {
      await node.untilNodeReady();
      for (const folder of [REGISTRY, FOLDER]) mkdirSync(box.path(folder), { recursive: true });
      await using driver = await new ClaimDriver(connectGrpc(), {
        name: DRIVER,
        registry: REGISTRY,
        folder: FOLDER,
        root: box.path(""),
        devices: ({ uid }) => [cdiDevice(uid)],
      }).start();
      await node.agent.until("the driver is registered", () =>
        driver.statuses.includes("registered"),
      );
      const [bare, claimed]: [number[], number[]] = [[], []];
      for (let i = 0; i < ROUNDS; i += 1) {
        bare.push(await round(node, `bare-${i}`, false, box.path("")));
        claimed.push(await round(node, `claimed-${i}`, true, box.path("")));
      }
      assert.equal(
        driver.calls.filter((call) => call.startsWith("prepare")).length,
        ROUNDS * COUNT,
      );
      const best = (times: readonly number[]) => Math.min(...times.slice(1));
      const ratio = best(claimed) / best(bare);
      const shown = (times: readonly number[]) => times.map((ms) => Math.round(ms)).join(" ");
      t.diagnostic(`without ${shown(bare)} ms, with ${shown(claimed)} ms: ${ratio.toFixed(2)}`);
      assert.ok(ratio <= MAX_RATIO, `${ratio.toFixed(2)} times as long`);
    },
    { box: { containerd: "2.4" }, config: "maxPods: 200" },
  ),
);
