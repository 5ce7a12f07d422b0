// One machine with a DRA driver and no cluster: a pod gets its device by a claim that is made from a template.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { archiveFile, standardImages, TEST_IMAGE } from "../box/images.ts";
import { cdiDevice, writeCdi } from "../claims/cdi.ts";
import { bareMachine } from "../cli/node-box.ts";
import { STAY } from "../support/agent.ts";
import { ClaimDriver } from "../support/claim-driver.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;
const WAIT_MS = 40_000 * TIMEOUT_FACTOR;
const DRIVER = "gpu.example.com";
/** `nodelet up` keeps the agent here. */
const ROOT_FOLDER = "/var/lib/nodelet/kubelet";
const REGISTRY = `${ROOT_FOLDER}/plugins_registry`;
const FOLDER = `${ROOT_FOLDER}/plugins/${DRIVER}`;

/** What a driver brings: its class, and what it publishes of its devices. */
const DEVICES = (node: string) => `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors:
  - cel: {expression: device.driver == "${DRIVER}"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec:
  driver: ${DRIVER}
  nodeName: ${node}
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: small
    capacity: {memory: {value: 8Gi}}
  - name: d0
    capacity: {memory: {value: 40Gi}}
`;

const SAY = 'echo "claimed $CLAIMED $(ls -l /dev/claimed)"';
const POD = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: large-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu
          selectors:
          - cel: {expression: 'device.capacity["${DRIVER}"].memory.compareTo(quantity("32Gi")) >= 0'}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: large-gpu}
  containers:
  - name: main
    image: ${TEST_IMAGE}
    imagePullPolicy: Never
    command: ${JSON.stringify(["sh", "-c", `${SAY}; ${STAY[2]}`])}
    resources: {claims: [{name: gpu}]}
`;

test("a pod with a claim from a template runs on one machine with a DRA driver", {
  skip,
}, async () => {
  await using node = await bareMachine({ containerd: "2.4", network: true });
  const kubectl = new Kubectl(node, program ?? "");
  const up = await node.nodelet(["up", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  // With the driver systemd the box's containerd, which has it, is not the one that is used.
  await node.run("images", "load", "-i", archiveFile(standardImages()));
  const root = node.box.path("");
  for (const folder of [REGISTRY, FOLDER]) mkdirSync(`${root}${folder}`, { recursive: true });
  await using driver = await new ClaimDriver(connectGrpc(), {
    name: DRIVER,
    registry: REGISTRY,
    folder: FOLDER,
    root,
    before: async (call, claims) => {
      if (call === "prepare") for (const { uid } of claims) writeCdi(uid, root);
    },
    devices: ({ uid }) => [cdiDevice(uid)],
  }).start();
  const until = async (what: RegExp, ask: () => Promise<string>) => {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const reported = await ask().catch((error: Error) => error.message);
      if (what.test(reported)) return reported;
      if (performance.now() > deadline) {
        const { stdout } = await node.nodelet(["why", "train"]);
        throw new Error(`no ${what} in ${reported}\n${stdout}\n${up.stdout}`);
      }
      await sleep(200);
    }
  };
  await until(/DRA driver connected/, () => node.run("devices"));
  const names = await kubectl.run(["get", "nodes", "-o", "name"]);
  const devices = DEVICES(names.trim().replace("node/", ""));
  await kubectl.run(["apply", "-f", "-"], { stdin: devices });
  await kubectl.run(["apply", "-f", "-"], { stdin: POD });
  await until(/^claimed \S+ crw.*\/dev\/claimed/m, () => kubectl.run(["logs", "train"]));
  const [uid = ""] = driver.prepared;
  assert.match(
    await node.run("devices"),
    /^default\/train-gpu-\S+ +gpu\.example\.com +p\/d0 +\S+ +prepared +default\/train /m,
  );
  assert.match(await node.run("why", "train"), /gives gpu\.example\.com\/p\/d0 \(its drivers/);
  assert.match(
    await kubectl.run(["get", "resourceclaims"]),
    /^train-gpu-\S+ +allocated,reserved /m,
  );
  const allocated = await kubectl.run(["get", "resourceclaims", "-o", "yaml"]);
  assert.match(allocated, /device: d0\n/, "the one with more memory");
  await kubectl.run(["delete", "pod", "train"]);
  await until(/No resources found/, () => kubectl.run(["get", "resourceclaims"]));
  assert.deepEqual(driver.calls, [`prepare ${uid}`, `unprepare ${uid}`]);
});
