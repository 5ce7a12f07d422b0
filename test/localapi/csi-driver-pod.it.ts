// One machine with a CSI driver that runs in a pod, and no cluster: its volume goes to a pod by a claim, and is taken away with it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { archiveFile, standardImages, TEST_IMAGE } from "../box/images.ts";
import { bareMachine } from "../cli/node-box.ts";
import { STAY } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;
const DRIVER = "csi.nodelet.test";
/** `nodelet up` keeps the agent here. */
const ROOT_FOLDER = "/var/lib/nodelet/kubelet";
const FOLDER = `${ROOT_FOLDER}/plugins/${DRIVER}`;
const PROGRAM = join(import.meta.dirname, "../volumes/csi-driver-main.ts");

/** As drivers are installed: privileged, with the folder of the agent, in which it mounts for everybody. */
const DRIVER_POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "driver" },
  spec: {
    terminationGracePeriodSeconds: 1,
    hostNetwork: true,
    dnsPolicy: "Default",
    containers: [
      {
        name: "driver",
        image: TEST_IMAGE,
        imagePullPolicy: "Never",
        // The program and its Node are the machine's.
        command: [
          ...["chroot", "/host", process.execPath, PROGRAM],
          ...[DRIVER, FOLDER, `${ROOT_FOLDER}/plugins_registry`],
        ],
        securityContext: { privileged: true },
        volumeMounts: [
          { name: "host", mountPath: "/host", mountPropagation: "HostToContainer" },
          {
            name: "agent",
            mountPath: `/host${ROOT_FOLDER}`,
            mountPropagation: "Bidirectional",
          },
        ],
      },
    ],
    volumes: [
      { name: "host", hostPath: { path: "/" } },
      { name: "agent", hostPath: { path: ROOT_FOLDER } },
    ],
  },
};

const OBJECTS = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ${DRIVER}}
spec: {attachRequired: false}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 32Mi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: csi
  csi: {driver: ${DRIVER}, volumeHandle: data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: csi
  volumeName: data
  resources: {requests: {storage: 32Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: ${TEST_IMAGE}
    imagePullPolicy: Never
    command: ${JSON.stringify(["sh", "-c", `grep ' /data ' /proc/mounts; ${STAY[2]}`])}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
`;

test("a CSI driver in a pod serves a claim on one machine", { skip }, async () => {
  await using node = await bareMachine({ containerd: "2.4", network: true });
  const kubectl = new Kubectl(node, program ?? "");
  const up = await node.nodelet(["up", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  // With the driver systemd the box's containerd, which has it, is not the one that is used.
  await node.run("images", "load", "-i", archiveFile(standardImages()));
  const until = async (what: RegExp, ask: () => Promise<string>) => {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const reported = await ask().catch((error: Error) => error.message);
      if (what.test(reported)) return reported;
      if (performance.now() > deadline) {
        const why = await Promise.all(["driver", "user"].map((pod) => node.nodelet(["why", pod])));
        const logs = await node.nodelet(["logs", "driver"]);
        throw new Error(
          `no ${what} in ${reported}\n${why.map(({ stdout }) => stdout).join("\n")}\n${logs.stdout}`,
        );
      }
      await sleep(200);
    }
  };
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(DRIVER_POD) });
  await until(new RegExp(`name: ${DRIVER}`), () => kubectl.run(["get", "csinodes", "-o", "yaml"]));
  await kubectl.run(["apply", "-f", "-"], { stdin: OBJECTS });
  await until(/^data \/data tmpfs /m, () => kubectl.run(["logs", "user"]));
  assert.match(await node.run("volumes"), /data/);
  await kubectl.run(["delete", "pod", "user"]);
  const calls = join(node.box.path(FOLDER), "calls");
  const called = async () =>
    readFileSync(calls, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { call: string }).call)
      .filter((call, at, all) => !["Gi", "stats"].includes(call) && call !== all[at - 1])
      .join(" ");
  await until(/Us$/, called);
  assert.equal(await called(), "St Pb Up Us");
  await kubectl.run(["delete", "pod", "driver"]);
  await until(/No resources found/, () => kubectl.run(["get", "pods"]));
  assert.ok(existsSync(calls), "nothing of the driver's own is removed");
});
