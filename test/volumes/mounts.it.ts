// Mounts as containers and the kernel see them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_IMAGE } from "../box/images.ts";
import { podTraces } from "../support/agent.ts";
import { startSwapper, swapObstacle } from "../support/swapper.ts";
import { staying, withNode } from "./world.ts";

const waitingOf = (node: Parameters<Parameters<typeof withNode>[0]>[0], name = "main") =>
  node.agent.status()?.containerStatuses?.find((status) => status.name === name)?.state?.waiting;

test("hostPath types: made, checked, and what is reported when they do not fit", () =>
  withNode(async ({ box, agent, inside, run }) => {
    await box.run(["sh", "-c", "mkdir -p /var/lib/here; echo x >/var/lib/here/file"]);
    const paths = [
      { path: "/var/lib/made", type: "DirectoryOrCreate" },
      { path: "/var/lib/here", type: "Directory" },
      { path: "/var/lib/here/new", type: "FileOrCreate" },
      { path: "/var/lib/here/file", type: "File" },
      { path: "/dev/null", type: "CharDevice" },
      { path: "/run/containerd/containerd.sock", type: "Socket" },
    ];
    const volumes = paths.map((hostPath, i) => ({ name: `v${i}`, hostPath }));
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    await run({ volumes, containers: [staying("main", { volumeMounts })] });
    assert.equal(
      await inside("stat -c %F /v0 /v1 /v2 /v3 /v4 /v5"),
      "directory\ndirectory\nregular empty file\nregular file\ncharacter special file\nsocket\n",
    );
    agent.remove("pod.yaml");
    await agent.until("it is gone", () => agent.statuses().size === 0);
    const hostPath = { path: "/var/lib/here/file", type: "Directory" };
    agent.apply("bad.yaml", {
      metadata: { name: "bad" },
      spec: { volumes: [{ name: "v", hostPath }], containers: [staying()] },
    });
    const text = `MountVolume.SetUp failed for volume \\"v\\" : hostPath type check failed: /var/lib/here/file is not a directory, it's a File`;
    await agent.until("it says why", () => agent.log().includes(text));
  }));

test("sub paths: of folders, files and variables, kept over a restart of the agent, gone with the pod", () =>
  withNode(async ({ box, agent, inside, run }) => {
    const before = await podTraces(box);
    const env = [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }];
    await run({
      volumes: [{ name: "v", emptyDir: {} }],
      initContainers: [
        {
          name: "fill",
          image: TEST_IMAGE,
          command: [
            "sh",
            "-c",
            "mkdir -p /v/real/deep; echo in >/v/real/deep/f; ln -s real /v/link",
          ],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
      containers: [
        staying("main", {
          env,
          volumeMounts: [
            { name: "v", mountPath: "/link", subPath: "link/deep" },
            { name: "v", mountPath: "/file", subPath: "real/deep/f", readOnly: true },
            { name: "v", mountPath: "/own", subPathExpr: "logs/$(POD)" },
          ],
        }),
      ],
    });
    assert.equal(await inside("cat /link/f /file; touch /own/x; ls /own"), "in\nin\nx\n");
    assert.match(await inside("echo y 2>&1 >/file || true"), /Read-only/);
    const mounted = () => box.run(["sh", "-c", "grep -c volume-subpaths /proc/self/mounts"]);
    assert.equal((await mounted()).trim(), "3");
    await agent.kill();
    await agent.start();
    await agent.untilReady();
    assert.equal((await mounted()).trim(), "3");
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 0);
    agent.remove("pod.yaml");
    await agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(box)) === JSON.stringify(before);
    });
  }));

test("a sub path that leads out of its volume is refused (CVE-2017-1002101)", () =>
  withNode(async (node) => {
    const { agent } = node;
    agent.apply("pod.yaml", {
      metadata: { name: "pod" },
      spec: {
        volumes: [{ name: "v", emptyDir: {} }],
        initContainers: [
          {
            name: "plant",
            image: TEST_IMAGE,
            command: ["sh", "-c", "ln -s / /v/root; ln -s ../../../.. /v/up"],
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
        ],
        containers: ["root/etc", "up/etc-hosts"].map((subPath, i) =>
          staying(`c${i}`, { volumeMounts: [{ name: "v", mountPath: "/stolen", subPath }] }),
        ),
      },
    });
    for (const name of ["c0", "c1"]) {
      await agent.until(
        "it is refused",
        () =>
          waitingOf(node, name) !== undefined &&
          waitingOf(node, name)?.reason === "CreateContainerConfigError",
      );
      assert.match(
        waitingOf(node, name)?.message ?? "",
        /^failed to prepare subPath for volumeMount "v" of container "c\d": .* does not stay beneath its volume$/,
      );
    }
  }));

test(
  "CVE-2021-25741: no host file is seen while a folder is exchanged for a link during mounts",
  { skip: swapObstacle() },
  () =>
    withNode(async ({ box, agent, inside }) => {
      await box.run([
        "sh",
        "-c",
        "mkdir -p /var/lib/secret/deep /var/lib/v/a/deep; echo host >/var/lib/secret/deep/f; echo mine >/var/lib/v/a/deep/f; ln -s /var/lib/secret /var/lib/v/link",
      ]);
      // As a container would that has the volume too: what is exchanged is the same in the kernel.
      const swapper = await startSwapper(box.path("/var/lib/v/a"), box.path("/var/lib/v/link"));
      const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
      agent.apply("pod.yaml", {
        metadata: { name: "pod" },
        spec: {
          terminationGracePeriodSeconds: 1,
          volumes: [{ name: "v", hostPath: { path: "/var/lib/v" } }],
          containers: names.map((name) =>
            staying(name, { volumeMounts: [{ name: "v", mountPath: "/m", subPath: "a/deep" }] }),
          ),
        },
      });
      const running = () =>
        (agent.status()?.containerStatuses ?? []).filter(({ state }) => state?.running);
      await agent.until(
        "most run, the others were refused and tried again",
        () => running().length >= 6,
        90_000,
      );
      const swaps = await swapper.stop();
      assert.ok(swaps >= 10_000, `${swaps} exchanges`);
      for (const { name } of running()) assert.equal(await inside("cat /m/f", name), "mine\n");
      console.log(`${running().length} containers mounted during ${swaps} exchanges`);
    }),
);

test("mount propagation: what the node mounts is seen with HostToContainer, what a container mounts with Bidirectional", () =>
  withNode(async ({ box, inside, run }) => {
    await box.run(["mkdir", "-p", "/var/lib/shared"]);
    const volumeMounts = (mountPropagation: string) => [
      { name: "v", mountPath: "/v", mountPropagation },
    ];
    await run({
      volumes: [{ name: "v", hostPath: { path: "/var/lib/shared" } }],
      containers: [
        staying("main", {
          volumeMounts: volumeMounts("Bidirectional"),
          securityContext: { privileged: true },
        }),
        staying("slave", { volumeMounts: volumeMounts("HostToContainer") }),
        staying("private", { volumeMounts: volumeMounts("None") }),
      ],
    });
    await box.run([
      "sh",
      "-c",
      "mkdir /var/lib/shared/host; mount -t tmpfs host /var/lib/shared/host",
    ]);
    await inside("mkdir /v/inner; mount -t tmpfs inner /v/inner");
    const sees = async (name: string) =>
      (await inside("grep -o ' /v/[a-z]*' /proc/self/mounts || true", name))
        .trim()
        .split(/\s+/)
        .sort()
        .join(" ");
    assert.equal(await sees("slave"), "/v/host /v/inner");
    assert.equal(await sees("private"), "");
    assert.match(
      await box.run(["cat", "/proc/self/mounts"]),
      /^inner \/var\/lib\/shared\/inner tmpfs/m,
    );
    await box.run(["umount", "/var/lib/shared/inner", "/var/lib/shared/host"]);
  }));

test("host ports lead to the pod", () =>
  withNode(async ({ box, agent, run }) => {
    await run({
      containers: [
        {
          name: "main",
          image: TEST_IMAGE,
          command: ["sh", "-c", "echo served >/tmp/x; exec busybox httpd -f -p 8080 -h /tmp"],
          ports: [{ containerPort: 8080, hostPort: 18080 }],
        },
      ],
    });
    const fetch = `busybox wget -q -O - http://${box.nodeAddress}:18080/x`;
    await agent.until("the port answers", async () => {
      return (await box.exec(["sh", "-c", fetch])).stdout === "served\n";
    });
  }));

test("what a removed pod left while the agent was away is unmounted and removed; what others mounted stays", () =>
  withNode(async ({ box, agent, run }) => {
    await run({
      volumes: [{ name: "m", emptyDir: { medium: "Memory" } }],
      containers: [
        staying("main", { volumeMounts: [{ name: "m", mountPath: "/m", subPath: "x" }] }),
      ],
    });
    await agent.kill();
    agent.remove("pod.yaml");
    const pods = "/var/lib/kubelet/pods";
    await box.run([
      "sh",
      "-c",
      `mkdir -p ${pods}/gone/volumes/kubernetes.io~secret/s ${pods}/kept/volumes/kubernetes.io~csi/x; mount -t tmpfs t ${pods}/gone/volumes/kubernetes.io~secret/s; mount -t tmpfs t ${pods}/kept/volumes/kubernetes.io~csi/x; echo data >${pods}/kept/volumes/kubernetes.io~csi/x/precious`,
    ]);
    await agent.start();
    await agent.until("only what is not ours is left", async () => {
      const left = await box.run(["ls", pods]);
      return left.trim() === "kept";
    });
    assert.equal(
      await box.run(["cat", `${pods}/kept/volumes/kubernetes.io~csi/x/precious`]),
      "data\n",
    );
    await box.run(["umount", `${pods}/kept/volumes/kubernetes.io~csi/x`]);
  }));

test("variables of a file that an init container wrote", () =>
  withNode(async ({ inside, run }) => {
    const fileKeyRef = (key: string, optional = false) => ({
      name: key,
      valueFrom: { fileKeyRef: { volumeName: "v", path: "env", key, optional } },
    });
    await run({
      volumes: [{ name: "v", emptyDir: {} }],
      initContainers: [
        {
          name: "write",
          image: TEST_IMAGE,
          command: ["sh", "-c", `echo "TOKEN='abc'" >/v/env`],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
      containers: [staying("main", { env: [fileKeyRef("TOKEN"), fileKeyRef("NONE", true)] })],
    });
    const env = (await inside("env")).split("\n");
    assert.ok(env.includes("TOKEN=abc"));
    assert.ok(!env.some((line) => line.startsWith("NONE")));
  }));
