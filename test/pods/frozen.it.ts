// A container that has frozen a child of its own in a cgroup, on real containerd: its pod ends all the same.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Box, startBox } from "../box/box.ts";
import { BoxedAgent } from "../support/agent.ts";
import { STAY } from "../support/stay.ts";
import { OUT, PodsOfAgent, shell } from "./world.ts";

let box: Box;
let pods: PodsOfAgent;

/** The child stands in a group of its own beneath that of the container, of either version of cgroups. */
const FREEZE = `
cd /sys/fs/cgroup; [ -d freezer ] && cd freezer
mkdir child
sleep 100000 &
echo $! >child/cgroup.procs
if [ -e child/freezer.state ]; then echo FROZEN >child/freezer.state; else echo 1 >child/cgroup.freeze; fi
cat child/freezer.state child/cgroup.freeze 2>/dev/null >/out/frozen
`;

before(async () => {
  box = await startBox({});
  await box.run(["mkdir", "-p", OUT]);
  pods = new PodsOfAgent(await BoxedAgent.start(box, {}));
});
after(() => box?.dispose());

test("a pod with a frozen child ends within its grace", async () => {
  pods.apply("freezer", {
    terminationGracePeriodSeconds: 2,
    containers: [shell("main", `${FREEZE}${STAY}`, { securityContext: { privileged: true } })],
  });
  await pods.untilRunning("freezer");
  await pods.agent.until("its child is frozen", () => pods.lines("frozen").length > 0);
  assert.match(pods.lines("frozen").join(), /FROZEN|FREEZING|1/);
  pods.remove("freezer");
  await pods.until("freezer", (pod) => pod === undefined, "is gone");
});
