// One test for each past flaw of kubelets that concerns pods, volumes and logs. Where another test file
// covers one more closely, this one still sees it from the outside.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../../src/api/generated/types.ts";
import { TEST_IMAGE, testImage } from "../box/images.ts";
import { startSwapper, swapObstacle } from "../support/swapper.ts";
import { staying, type VolumeNode, withNode } from "./world.ts";

const USER_IMAGE = "nodelet.test/user:1";
const ROOT_IMAGE = "nodelet.test/root:1";

/** Puts a pod in place and waits until the agent's log says `text`. */
async function refused(node: VolumeNode, spec: Partial<PodSpec>, text: RegExp): Promise<void> {
  const { agent } = node;
  agent.apply("pod.yaml", {
    metadata: { name: "pod" },
    spec: { containers: [staying()], ...spec },
  });
  const reported = () =>
    text.test(agent.log()) || text.test(JSON.stringify([...agent.statuses().values()]));
  await agent.until(`it says ${text}`, reported);
  const running = [...agent.statuses().values()].some(({ containerStatuses = [] }) =>
    containerStatuses.some(({ state }) => state?.running),
  );
  assert.ok(!running, "a container runs all the same");
}

const waiting = ({ agent }: VolumeNode) => agent.status()?.containerStatuses?.[0]?.state?.waiting;

test(
  "CVE-2017-1002101, CVE-2021-25741: a sub path never shows the host",
  { skip: swapObstacle() },
  (t) =>
    withNode(async ({ box, agent, inside }) => {
      await box.run([
        "sh",
        "-c",
        "mkdir -p /var/lib/host/d /var/lib/v/d; echo host >/var/lib/host/d/f; echo mine >/var/lib/v/d/f; ln -s /var/lib/host /var/lib/v/link; mkdir /var/lib/v/a; echo mine >/var/lib/v/a/f; mkdir /var/lib/v/a/d; echo mine >/var/lib/v/a/d/f",
      ]);
      const swapper = await startSwapper(box.path("/var/lib/v/a"), box.path("/var/lib/v/link"));
      const containers = ["link/d", "a/d", "a/d", "a/d", "a/d", "d"].map((subPath, i) =>
        staying(`c${i}`, { volumeMounts: [{ name: "v", mountPath: "/m", subPath }] }),
      );
      agent.apply("pod.yaml", {
        metadata: { name: "pod" },
        spec: { volumes: [{ name: "v", hostPath: { path: "/var/lib/v" } }], containers },
      });
      const running = () =>
        (agent.status()?.containerStatuses ?? []).filter(({ state }) => state?.running);
      await agent.until(
        "some run",
        () => running().some(({ name }) => name === "c5") && running().length > 1,
        60_000,
      );
      const exchanges = await swapper.stop();
      assert.ok(exchanges >= 10_000, `${exchanges} exchanges`);
      t.diagnostic(`${exchanges} exchanges of a folder and a link`);
      for (const { name } of running()) assert.equal(await inside("cat /m/f", name), "mine\n");
    }),
);

test("CVE-2017-1002102: a container cannot change what a written volume is made of", () =>
  withNode(async ({ inside, run }) => {
    const items = [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }];
    await run({
      volumes: [{ name: "d", downwardAPI: { items } }],
      containers: [
        staying("main", {
          volumeMounts: [{ name: "d", mountPath: "/d", readOnly: false }],
          securityContext: { runAsUser: 0 },
        }),
      ],
    });
    assert.match(await inside("rm /d/..data 2>&1 || true"), /Read-only file system/);
    assert.match(await inside("ln -s /etc /d/evil 2>&1 || true"), /Read-only file system/);
  }));

test("CVE-2019-11245: the image's user holds at the first start, at a restart and with the image present", () =>
  withNode(
    async ({ box, agent, inside, run }) => {
      await run({ containers: [staying("main", { image: USER_IMAGE })] });
      assert.equal(await inside("id -u"), "1000\n");
      const restarts = () => agent.status()?.containerStatuses?.[0]?.restartCount ?? 0;
      const id = agent.status()?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
      await box.ctr("tasks", "kill", "--signal", "SIGKILL", id ?? "");
      await agent.until("it runs again", () => restarts() === 1);
      await agent.untilReady();
      assert.equal(await inside("id -u"), "1000\n");
      agent.remove("pod.yaml");
      await agent.until("it is gone", () => agent.statuses().size === 0);
      agent.apply("root.yaml", {
        metadata: { name: "root" },
        spec: {
          securityContext: { runAsNonRoot: true },
          containers: [staying("main", { image: ROOT_IMAGE })],
        },
      });
      const message = () => agent.status()?.containerStatuses?.[0]?.state?.waiting?.message ?? "";
      await agent.until("root is refused", () =>
        message().startsWith("container has runAsNonRoot and image will run as root"),
      );
    },
    {
      box: {
        images: [
          testImage({ names: [USER_IMAGE], user: "1000" }),
          testImage({ names: [ROOT_IMAGE], user: "0" }),
        ],
      },
    },
  ));

test("CVE-2023-2431: a local seccomp profile without a name is refused, never none at all", () =>
  withNode((node) =>
    refused(
      node,
      { securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "" } } },
      /localhostProfile/,
    ),
  ));

test("CVE-2024-10220, CVE-2025-1767: gitRepo volumes are refused by name", () =>
  withNode((node) =>
    refused(
      node,
      { volumes: [{ name: "g", gitRepo: { repository: "https://git.example/x.git" } }] },
      /gitRepo: .*not supported/,
    ),
  ));

test("CVE-2025-4563: a static pod reaches no object of the API", () =>
  withNode(async (node) => {
    const claims = [{ name: "gpu", resourceClaimName: "gpu" }];
    await refused(node, { resourceClaims: claims }, /static pods may not reference resourceclaims/);
    const volumes = [{ name: "s", secret: { secretName: "s" } }];
    await refused(node, { volumes }, /static pods may not reference secrets/);
    await refused(
      node,
      { serviceAccountName: "robot" },
      /static pods may not reference serviceaccounts/,
    );
  }));

test("termination messages: a container that plants a link shows no file of the host", () =>
  withNode(async (node) => {
    node.agent.apply("pod.yaml", {
      metadata: { name: "pod" },
      spec: {
        restartPolicy: "Never",
        volumes: [{ name: "v", emptyDir: {} }],
        containers: [
          {
            name: "main",
            image: TEST_IMAGE,
            terminationMessagePath: "/v/end",
            volumeMounts: [{ name: "v", mountPath: "/v" }],
            command: ["sh", "-c", "rm -f /v/end; ln -s /etc/shadow /v/end; exit 3"],
          },
        ],
      },
    });
    const ended = () => node.agent.status()?.containerStatuses?.[0]?.state?.terminated;
    await node.agent.until("it has ended", () => ended() !== undefined);
    assert.doesNotMatch(ended()?.message ?? "", /root:/);
    assert.equal(waiting(node), undefined);
  }));
