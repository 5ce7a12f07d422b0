// The machine is restarted under a pod: everything that ran is gone, and so is all that was kept in memory.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, conditionOf, manifest, STAY } from "../support/agent.ts";

const GATE = "/var/lib/gate";
const GATED = {
  initContainers: [
    {
      name: "prep",
      image: TEST_IMAGE,
      command: ["sh", "-c", "until [ -e /gate/open ]; do sleep 0.1; done"],
      volumeMounts: [{ name: "gate", mountPath: "/gate" }],
    },
  ],
  containers: [{ name: "main", image: TEST_IMAGE, command: [...STAY] }],
  volumes: [{ name: "gate", hostPath: { path: GATE, type: "Directory" } }],
};
/** How often the status is read while the pod is not initialized, 20 ms apart. */
const POLLS = 100;

/** What a power cut and a start leave of a machine: disks as they were, and nothing of processes, mounts, /run. */
const REBOOT = `
  for pid in $(pgrep -f '[c]ontainerd-shim') $(cat $(find /sys/fs/cgroup -path '*/pod*' -name cgroup.procs)); do
    kill -9 $pid 2>/dev/null
  done
  sleep 0.5
  awk '$2 ~ "^/run/(containerd|netns)|^/var/run/netns|^/var/lib/kubelet/pods" { print $2 }' /proc/self/mounts |
    sort -r | xargs -r umount -l
  find /sys/fs/cgroup -depth -type d -path '*kubepods*' -exec rmdir {} + 2>/dev/null
  ip link delete cni0 2>/dev/null
  rm -rf /run/containerd /run/netns /run/nodelet /run/nodelet-agents /run/runc
  echo 11111111-2222-4333-8444-555555555555 >/run/tmp/boot_id
  mount --bind /run/tmp/boot_id /proc/sys/kernel/random/boot_id`;

async function reboot(box: Box, agent: BoxedAgent): Promise<void> {
  await agent.kill();
  await box.killContainerd();
  await box.run(["sh", "-c", `mkdir -p /run/tmp; ${REBOOT}`]);
  assert.equal(await box.run(["sh", "-c", "pgrep -f '[c]ontainerd-shim' || true"]), "");
  await box.startContainerd();
  await agent.start();
}

test("after a restart of the machine a pod is Pending until it is initialized again", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    await box.run(["mkdir", GATE]);
    box.write(`${GATE}/open`, "");
    agent.apply("gated.yaml", manifest("gated", GATED));
    await agent.untilReady();
    const [uid] = agent.statuses().keys();
    const init = () => agent.status()?.initContainerStatuses?.[0];
    const before = init()?.containerID;
    rmSync(box.path(`${GATE}/open`));
    await reboot(box, agent);
    await agent.until(
      "the init container runs again",
      () => init()?.state?.running !== undefined && init()?.containerID !== before,
    );
    for (let poll = 0; poll < POLLS; poll += 1) {
      const status = agent.status();
      assert.equal(status?.phase, "Pending");
      assert.equal(conditionOf(status, "Ready"), "False");
      const [main] = status?.containerStatuses ?? [];
      assert.ok(main && !main.ready && !main.state?.running, JSON.stringify(main));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    box.write(`${GATE}/open`, "");
    await agent.untilReady();
    assert.equal(agent.status()?.phase, "Running");
    assert.deepEqual([...agent.statuses().keys()], [uid]);
    assert.equal(init()?.state?.terminated?.reason, "Completed");
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 1);
  }));
