// What only newer runtimes can: containerd 2.1 from another Debian suite, with the machine's runc.
import assert from "node:assert/strict";
import { test } from "node:test";
import { usualContainerd } from "../box/containerd.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { staying, withNode } from "./world.ts";

test("an image as a volume: read-only; a part of it is refused where the runtime would mount all", () =>
  withNode(
    async ({ inside, run, agent }) => {
      const image = { reference: TEST_IMAGE, pullPolicy: "IfNotPresent" };
      await run({
        volumes: [{ name: "i", image }],
        containers: [
          staying("main", {
            volumeMounts: [{ name: "i", mountPath: "/image" }],
          }),
        ],
      });
      assert.match(await inside("ls /image/bin/busybox; cat /image/etc/passwd"), /busybox\nroot:/);
      assert.match(await inside("touch /image/x 2>&1 || true"), /Read-only file system/);
      agent.remove("pod.yaml");
      await agent.until("it is gone", () => agent.statuses().size === 0);
      const volumeMounts = [{ name: "i", mountPath: "/etc-of-image", subPath: "etc" }];
      agent.apply("part.yaml", {
        metadata: { name: "part" },
        spec: { volumes: [{ name: "i", image }], containers: [staying("main", { volumeMounts })] },
      });
      const waiting = () => agent.status()?.containerStatuses?.[0]?.state?.waiting?.message;
      await agent.until(
        "it says why not",
        () => waiting() === 'volume "i": this container runtime cannot mount parts of images',
      );
    },
    { box: { containerd: "2.1" } },
  ));

test("recursive read-only, and the user in the status, where the runtime can", () =>
  withNode(
    async ({ box, agent, inside, run }) => {
      await box.run([
        "sh",
        "-c",
        "mkdir -p /var/lib/v/inner; mount -t tmpfs inner /var/lib/v/inner",
      ]);
      const mount = { name: "v", readOnly: true };
      await run({
        securityContext: { supplementalGroups: [2000] },
        volumes: [{ name: "v", hostPath: { path: "/var/lib/v" } }],
        containers: [
          staying("main", {
            volumeMounts: [
              { ...mount, mountPath: "/plain" },
              { ...mount, mountPath: "/recursive", recursiveReadOnly: "IfPossible" },
            ],
          }),
        ],
      });
      assert.equal(await inside("touch /plain/inner/x && echo written"), "written\n");
      const linux = { uid: 0, gid: 0, supplementalGroups: [0, 2000] };
      assert.deepEqual(agent.status()?.containerStatuses?.[0]?.user, { linux });
      assert.match(await inside("touch /recursive/inner/x 2>&1 || true"), /Read-only file system/);
    },
    { box: { containerd: "2.1" } },
  ));

test("an older runtime refuses image volumes with a reason", () =>
  withNode(
    async ({ agent }) => {
      agent.apply("pod.yaml", {
        metadata: { name: "pod" },
        spec: {
          volumes: [{ name: "i", image: { reference: TEST_IMAGE } }],
          containers: [staying("main", { volumeMounts: [{ name: "i", mountPath: "/image" }] })],
        },
      });
      const waiting = () => agent.status()?.containerStatuses?.[0]?.state?.waiting;
      await agent.until("it is refused", () => waiting()?.reason === "CreateContainerConfigError");
      assert.equal(waiting()?.message, 'volume "i": this container runtime cannot mount images');
    },
    { box: { containerd: "1.7" } },
  ));

/** Built for a whole run only. */
if (usualContainerd() === "2.4")
  test("containerd 2.4 mounts a part of an image", () =>
    withNode(async ({ inside, run }) => {
      const volumeMounts = [{ name: "i", mountPath: "/etc-of-image", subPath: "etc" }];
      await run({
        volumes: [{ name: "i", image: { reference: TEST_IMAGE } }],
        containers: [staying("main", { volumeMounts })],
      });
      assert.match(await inside("cat /etc-of-image/passwd"), /^root:/);
      assert.match(await inside("touch /etc-of-image/x 2>&1 || true"), /Read-only file system/);
    }));
