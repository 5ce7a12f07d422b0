// What a runtime cannot do is reported, not left out silently; what it can do is done.
import assert from "node:assert/strict";
import { test } from "node:test";
import { usualContainerd } from "../box/containerd.ts";
import { staying, withNode } from "../volumes/world.ts";

const USR1 = { stopSignal: "SIGUSR1" } as const;

test("a stop signal that the runtime would not send is refused with a reason", () =>
  withNode(
    async ({ agent }) => {
      agent.apply("pod.yaml", {
        metadata: { name: "pod" },
        spec: {
          os: { name: "linux" },
          containers: [staying("main", { lifecycle: USR1 })],
        },
      });
      const waiting = () => agent.status()?.containerStatuses?.[0]?.state?.waiting;
      await agent.until("it is refused", () => waiting()?.reason === "CreateContainerConfigError");
      const message = "this container runtime does not support custom stop signals";
      assert.equal(waiting()?.message, message);
    },
    { box: { containerd: "machine" } },
  ));

/** Built for a whole run only. */
if (usualContainerd() === "2.4")
  test("containerd 2.4 sends the stop signal of a container", () =>
    withNode(async ({ agent, box, run }) => {
      const note = "/var/lib/nodelet-note";
      await box.run(["mkdir", "-p", note]);
      const command = [
        "sh",
        "-c",
        'trap "echo asked > /note/usr1; exit 0" USR1; while :; do sleep 0.1; done',
      ];
      await run({
        os: { name: "linux" },
        volumes: [{ name: "note", hostPath: { path: note } }],
        containers: [
          staying("main", {
            command,
            lifecycle: USR1,
            volumeMounts: [{ name: "note", mountPath: "/note" }],
          }),
        ],
      });
      agent.remove("pod.yaml");
      await agent.until("it is gone", () => agent.statuses().size === 0);
      assert.equal(await box.run(["cat", `${note}/usr1`]), "asked\n");
    }));
