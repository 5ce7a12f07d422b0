/** Every panel and alert of kubernetes-mixin finds its series on a real node of `nodelet up` with 20 pods. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bareMachine } from "../cli/node-box.ts";
import { LoopDevice } from "../support/loop-device.ts";
import { parseSamples } from "../support/metric-page.ts";
import { answerOf } from "./http.ts";
import { missingSeries } from "./mixin.ts";
import { MIXIN, MIXIN_CADVISOR } from "./mixin.vectors.ts";

const PODS = 20;
const WAIT_MS = 120_000;

/** Where `up` keeps everything: images, layers of containers, volumes. */
const STATE = "/var/lib/nodelet";
const DISK_BYTES = 512 * 1024 * 1024;

/** A pod with a quota that writes to the disk. */
function manifest(name: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: "data", emptyDir: {} }],
      containers: [
        {
          name: "main",
          image: "localhost/nodelet/hello:1",
          imagePullPolicy: "Never",
          command: [
            "/bin/sh",
            "-c",
            "dd if=/dev/zero of=/data/file bs=1M count=4 conv=fsync && exec sleep 100000",
          ],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
          // Little enough that all of them fit on a small machine.
          resources: {
            requests: { cpu: "5m", memory: "8Mi" },
            limits: { cpu: "100m", memory: "64Mi" },
          },
        },
      ],
    },
  });
}

test(`a node with ${PODS} pods has every series that kubernetes-mixin asks for`, async () => {
  const node = await bareMachine({ storeMib: 1024 });
  let disk: LoopDevice | undefined;
  try {
    disk = LoopDevice.over(join(node.box.folder, "disk"), DISK_BYTES);
    assert.ok(disk, "no loop device is free");
    // With cgroups of version 1, Linux since 6.10 counts nothing of a disk that has neither this scheduler nor a limit.
    disk.setScheduler("bfq");
    execFileSync("mkfs.ext4", ["-q", "-m", "0", disk.path]);
    await node.box.run(["sh", "-c", `mkdir -p ${STATE} && mount ${disk.path} ${STATE}`]);
    const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
    assert.equal(up.code, 0, up.stdout + up.stderr);
    for (let i = 0; i < PODS; i += 1)
      await node.box.exec(["sh", "-c", `cat >/etc/nodelet/manifests/web-${i}.yaml`], {
        stdin: manifest(`web-${i}`),
      });
    const socketPath = node.box.path("/run/nodelet/agent.sock");
    const page = async (path: string) => {
      const { status, body } = await answerOf(request({ socketPath, path, agent: false }));
      assert.equal(status, 200, path);
      return parseSamples(body);
    };
    const runs = async () => {
      const samples = await page("/metrics");
      return samples.some(({ name, value }) => name === "kubelet_running_pods" && value > PODS);
    };
    const deadline = performance.now() + WAIT_MS;
    while (!(await runs())) {
      assert.ok(performance.now() < deadline, "all pods run");
      await sleep(500);
    }
    // Until all have written.
    const missing = async () => [
      ...missingSeries(MIXIN, await page("/metrics")),
      ...missingSeries(MIXIN_CADVISOR, await page("/metrics/cadvisor")),
    ];
    while ((await missing()).length > 0 && performance.now() < deadline) await sleep(1_000);
    assert.deepEqual(await missing(), []);
  } finally {
    await node[Symbol.asyncDispose]();
    disk?.detach();
  }
});
