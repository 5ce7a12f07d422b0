// RestartAllContainers on containerd: in place, in order, also when the agent is killed in the middle.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_IMAGE } from "../box/images.ts";
import { WAIT_FOREVER } from "../support/stay.ts";
import { staying, withNode } from "../volumes/world.ts";

const RULE = {
  restartPolicy: "Never",
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
  ],
};
const log = (name: string) => `echo ${name} >> /shared/log`;
const mounts = [{ name: "shared", mountPath: "/shared" }];
const SPEC = {
  restartPolicy: "Never",
  terminationGracePeriodSeconds: 30,
  volumes: [{ name: "shared", emptyDir: {} }],
  initContainers: [
    {
      name: "prep",
      image: TEST_IMAGE,
      command: ["sh", "-c", log("prep")],
      volumeMounts: mounts,
    },
  ],
  containers: [
    staying("main", {
      command: ["sh", "-c", `${log("main")}; trap '' TERM; ${WAIT_FOREVER}`],
      volumeMounts: mounts,
      lifecycle: { preStop: { exec: { command: ["sh", "-c", log("hook")] } } },
    }),
    {
      name: "source",
      image: TEST_IMAGE,
      // Ends once, when the file says so.
      command: [
        "sh",
        "-c",
        `${log("source")}; while true; do if rm /shared/go 2>/dev/null; then exit 42; fi; sleep 0.1; done`,
      ],
      volumeMounts: mounts,
      ...RULE,
    },
  ],
};

test("all containers are restarted in the same sandbox, with the volumes as they were", () =>
  withNode(async ({ agent, inside, run }) => {
    await run(SPEC);
    const network = () => inside("readlink /proc/self/ns/net");
    const before = await network();
    const ip = agent.status()?.podIP;
    await inside("touch /shared/go");
    const counts = () =>
      [
        ...(agent.status()?.initContainerStatuses ?? []),
        ...(agent.status()?.containerStatuses ?? []),
      ].map(({ name, restartCount }) => `${name} ${restartCount}`);
    await agent.until("all run again", () => counts().join() === "prep 1,main 1,source 1");
    await agent.untilReady();
    assert.equal(await inside("cat /shared/log"), "prep\nmain\nsource\nprep\nmain\nsource\n");
    assert.equal(await network(), before);
    assert.equal(agent.status()?.podIP, ip);

    // Once more, with an agent that dies as soon as the first container was asked to stop.
    await inside("touch /shared/go");
    await agent.until("it is being restarted", () =>
      (agent.status()?.conditions ?? []).some(
        ({ type, status }) => type === "AllContainersRestarting" && status === "True",
      ),
    );
    await agent.kill();
    await agent.start();
    await agent.until("all run again", () => counts().join() === "prep 2,main 2,source 2");
    await agent.untilReady();
    assert.match(await inside("cat /shared/log"), /(prep\nmain\nsource\n){3}$/);
    assert.equal(await network(), before);
  }));
