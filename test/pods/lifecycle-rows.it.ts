// What pods of many kinds see and leave on a node with real containerd: one box, one test for each feature.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { LifecycleHandler } from "../../src/api/generated/types.ts";
import { type Box, startBox } from "../box/box.ts";
import { cniConfig } from "../box/containerd.ts";
import { cniPlugins } from "../box/prerequisites.ts";
import { BoxedAgent } from "../support/agent.ts";
import { STAY, WAIT_FOREVER } from "../support/stay.ts";
import { exec, OUT, PodsOfAgent, shell } from "./world.ts";

let box: Box;
let pods: PodsOfAgent;

/** Notes that it began, runs, and notes that it was asked to end. */
/** Of the text of /proc/uptime, which all containers share. */
const uptimeSeconds = (text: string) => Number(text.split(" ")[0]);

const noting = (name: string, file: string) =>
  `echo ${name} >>/out/${file}-began; trap 'echo ${name} >>/out/${file}-ended; exit 0' TERM; ${WAIT_FOREVER}`;

before(async () => {
  box = await startBox({});
  await box.run(["mkdir", "-p", OUT]);
  const network = JSON.parse(cniConfig({ ipv6: false })) as { plugins: object[] };
  if (hasBandwidth) network.plugins.push({ type: "bandwidth", capabilities: { bandwidth: true } });
  box.write("/etc/cni/net.d/10-box.conflist", JSON.stringify(network));
  const config = "crashLoopBackOff: {maxContainerRestartPeriod: 1s}";
  pods = new PodsOfAgent(await BoxedAgent.start(box, { config }));
  applyAll();
});
after(() => box?.dispose());

const hasBandwidth = existsSync(join(cniPlugins() ?? "/none", "bandwidth"));

function applyAll(): void {
  applyOrder();
  applyHooks();
  applyMessages();
  applyNamespaces();
  pods.apply("again", {
    restartPolicy: "OnFailure",
    containers: [shell("main", "echo attempt; exit 1")],
  });
  pods.apply("other-os", { os: { name: "windows" }, containers: [shell("main", STAY)] });
  pods.apply("asks", {
    containers: [
      shell("main", "cat; echo closed", { stdin: true, stdinOnce: true }),
      shell("terminal", "[ -t 0 ] && tty && read x && echo got $x", { stdin: true, tty: true }),
    ],
    restartPolicy: "Never",
  });
  pods.apply(
    "slow",
    { containers: [shell("main", STAY)] },
    {
      annotations: {
        "kubernetes.io/ingress-bandwidth": "10M",
        "kubernetes.io/egress-bandwidth": "20M",
      },
    },
  );
}

function applyOrder(): void {
  const always = { restartPolicy: "Always" } as const;
  pods.apply("order", {
    initContainers: [
      shell("first", "echo first >>/out/order-began"),
      shell("side-a", `sleep 1; touch /out/a-is-up; ${noting("side-a", "order")}`, {
        ...always,
        startupProbe: { exec: { command: ["test", "-f", "/out/a-is-up"] }, periodSeconds: 1 },
      }),
      shell("side-b", noting("side-b", "order"), always),
      shell("second", "echo second >>/out/order-began"),
    ],
    containers: [shell("main", noting("main", "order"))],
  });
}

function applyHooks(): void {
  const cgi = `#!/bin/sh\necho "$QUERY_STRING" >>/out/hooks\nprintf '\\n'\n`;
  const web = `mkdir -p /tmp/w/cgi-bin; printf '%s' "$CGI" >/tmp/w/cgi-bin/say; chmod +x /tmp/w/cgi-bin/say; exec httpd -f -p 8080 -h /tmp/w`;
  const say = (what: string): LifecycleHandler => ({
    httpGet: { path: `/cgi-bin/say?${what}`, port: "web" },
  });
  const ports = [{ name: "web", containerPort: 8080 }];
  pods.apply("hooks", {
    containers: [
      shell("web", web, {
        ports,
        env: [{ name: "CGI", value: cgi }],
        lifecycle: { postStart: { sleep: { seconds: 1 } }, preStop: say("web-pre-stop") },
      }),
      shell("main", `${noting("main", "hooks")}`, {
        ports,
        lifecycle: {
          postStart: exec("echo exec-post-start >>/out/hooks; cat /proc/uptime >/out/started-at"),
          preStop: exec("echo exec-pre-stop >>/out/hooks"),
        },
      }),
      shell("asks", STAY, { ports, lifecycle: { postStart: say("asks-post-start") } }),
      shell(
        "sleeps",
        `cat /proc/uptime >/out/sleeps-began; trap 'cat /proc/uptime >/out/sleeps-ended; exit 0' TERM; ${WAIT_FOREVER}`,
        { lifecycle: { preStop: { sleep: { seconds: 2 } } } },
      ),
    ],
  });
  pods.apply("bad-hooks", {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 3,
    containers: [
      shell("start", STAY, { lifecycle: { postStart: exec("echo because; exit 7") } }),
      shell("main", STAY, { lifecycle: { preStop: exec("exit 9") } }),
    ],
  });
}

function applyMessages(): void {
  const fallBack = { terminationMessagePolicy: "FallbackToLogsOnError" } as const;
  const fill = "head -c 5000 /dev/zero | tr '\\0' x >/dev/termination-log; exit 1";
  pods.apply("messages", {
    restartPolicy: "Never",
    containers: ["main", "b", "c", "d"].map((name) => shell(name, fill)),
  });
  pods.apply("last-words", {
    restartPolicy: "Never",
    containers: [
      shell(
        "main",
        "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; done; exit 3",
        fallBack,
      ),
      shell("well", "echo all is well", fallBack),
      shell("file", "echo words >/tmp/mine; exit 4", {
        ...fallBack,
        terminationMessagePath: "/tmp/mine",
      }),
    ],
  });
}

function applyNamespaces(): void {
  pods.apply("shared", {
    shareProcessNamespace: true,
    containers: [shell("main", STAY), shell("other", "sleep 12345")],
  });
  pods.apply("host", {
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    containers: [shell("main", STAY)],
  });
}

describe("order", () => {
  test("sidecars start in their place, once started the next; they end last to first", async () => {
    await pods.untilRunning("order");
    assert.deepEqual(pods.lines("order-began"), ["first", "side-a", "side-b", "second", "main"]);
    const init = (await pods.pod("order"))?.status?.initContainerStatuses ?? [];
    assert.deepEqual(
      init.map(({ name, ready, started, state }) => [
        name,
        ready,
        started,
        Object.keys(state ?? {}),
      ]),
      [
        ["first", true, false, ["terminated"]],
        ["side-a", true, true, ["running"]],
        ["side-b", true, true, ["running"]],
        ["second", true, false, ["terminated"]],
      ],
    );
    pods.remove("order");
    await pods.until("order", (pod) => pod === undefined, "is gone");
    assert.deepEqual(pods.lines("order-ended"), ["main", "side-b", "side-a"]);
  });
});

describe("hooks", () => {
  test("by exec, HTTP and sleep, after the start and before the end", async () => {
    await pods.untilRunning("hooks");
    assert.deepEqual(pods.lines("hooks"), ["exec-post-start", "asks-post-start"]);
    const removedAt = uptimeSeconds(readFileSync("/proc/uptime", "utf8"));
    pods.remove("hooks");
    await pods.until("hooks", (pod) => pod === undefined, "is gone");
    assert.deepEqual([...pods.lines("hooks")].sort(), [
      "asks-post-start",
      "exec-post-start",
      "exec-pre-stop",
      "web-pre-stop",
    ]);
    const slept = uptimeSeconds(pods.lines("sleeps-ended")[0] ?? "") - removedAt;
    assert.ok(slept >= 2, `asked to end ${slept} s after the pod was removed: the hook sleeps 2 s`);
  });

  test("that fail are events; a failed post-start hook ends its container", async () => {
    const failed = "FailedPostStartHook: PostStartHook failed";
    await pods.agent.until("the start hook has failed", async () =>
      (await pods.events("bad-hooks")).includes(failed),
    );
    await pods.agent.until("its container has ended", async () => {
      return (await pods.container("bad-hooks", "start"))?.state?.terminated !== undefined;
    });
    assert.ok((await pods.container("bad-hooks"))?.state?.running);
    pods.remove("bad-hooks");
    await pods.until("bad-hooks", (pod) => pod === undefined, "is gone");
    const events = await pods.events("bad-hooks");
    assert.ok(events.includes("FailedPreStopHook: PreStopHook failed"), events.join("\n"));
  });
});

describe("termination messages", () => {
  const messageOf = async (pod: string, container: string) =>
    (await pods.container(pod, container))?.state?.terminated?.message;

  test("a pod has 12 KiB for them", async () => {
    await pods.until("messages", (pod) => pod?.status?.phase === "Failed", "has failed");
    for (const name of ["main", "b", "c", "d"])
      assert.equal((await messageOf("messages", name))?.length, 3072);
  });

  test("the log stands in where nothing was written and the container failed", async () => {
    await pods.until("last-words", (pod) => pod?.status?.phase === "Failed", "has failed");
    const lines = (await messageOf("last-words", "main"))?.trimEnd().split("\n") ?? [];
    assert.deepEqual([lines[0], lines.at(-1), lines.length], ["line 21", "line 100", 80]);
    assert.equal(await messageOf("last-words", "well"), undefined);
    assert.equal(await messageOf("last-words", "file"), "words\n");
  });
});

describe("input", () => {
  test("stdinOnce: the container's input ends with the first that attached", async () => {
    await pods.agent.until("it runs", async () => {
      return (await pods.container("asks"))?.state?.running !== undefined;
    });
    const socket = await pods.attach("asks", "stdin=1&stdout=1");
    socket.send(Buffer.concat([Buffer.of(0), Buffer.from("hello\n")]));
    await pods.agent.until("it answers", async () => (await pods.log("asks")) === "hello\n");
    socket.close();
    await pods.agent.until("it has read to the end", async () => {
      return (await pods.container("asks"))?.state?.terminated?.exitCode === 0;
    });
    assert.equal(await pods.log("asks"), "hello\nclosed\n");
  });

  test("tty: the container has a terminal", async () => {
    await pods.agent.until("it runs", async () => {
      return (await pods.container("asks", "terminal"))?.state?.running !== undefined;
    });
    const socket = await pods.attach("asks", "stdin=1&stdout=1&tty=1", "terminal");
    socket.send(Buffer.concat([Buffer.of(0), Buffer.from("you\n")]));
    await pods.agent.until("it has read", async () => {
      return (await pods.container("asks", "terminal"))?.state?.terminated !== undefined;
    });
    socket.close();
    const log = await pods.log("asks", "terminal");
    assert.match(log, /\/dev\/pts\/0/);
    assert.match(log, /got you/);
  });
});

describe("namespaces", () => {
  test("containers that share processes see one another", async () => {
    await pods.untilRunning("shared");
    assert.match(await pods.inside("shared", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), /12345/);
    await pods.untilRunning("slow");
    assert.equal(await pods.inside("slow", "cat /proc/1/comm"), "sh\n");
  });

  test("hostNetwork, hostPID and hostIPC are the node's", async () => {
    await pods.untilRunning("host");
    for (const kind of ["net", "pid", "ipc"]) {
      const mine = await pods.inside("host", `readlink /proc/self/ns/${kind}`);
      assert.equal(mine, await box.run(["readlink", `/proc/1/ns/${kind}`]), kind);
    }
    const status = (await pods.pod("host"))?.status;
    assert.equal(status?.podIP, status?.hostIP);
  });
});

describe("network", () => {
  test("annotations of bandwidth become limits of the pod's link", {
    skip: hasBandwidth ? false : "there is no CNI plugin for bandwidth",
  }, async () => {
    await pods.untilRunning("slow");
    const limits = await box.run(["tc", "qdisc", "show"]);
    assert.match(limits, /tbf .*rate 10Mbit/);
    assert.match(limits, /tbf .*rate 20Mbit/);
  });
});

describe("what has ended", () => {
  test("one ended attempt of a container is kept, with its log", async () => {
    await pods.agent.until("it was restarted often", async () => {
      return ((await pods.container("again"))?.restartCount ?? 0) >= 4;
    });
    const pod = await pods.pod("again");
    const filter = `labels."io.kubernetes.pod.name"==${pod?.metadata?.name},labels."io.kubernetes.container.name"==main`;
    const kept = async () => (await box.ctr("containers", "list", "-q", filter)).trim().split("\n");
    await pods.agent.until("at most one is kept beside the newest", async () => {
      return (await kept()).length <= 2;
    });
    const { namespace, name, uid } = pod?.metadata ?? {};
    const logs = () => readdirSync(box.path(`/var/log/pods/${namespace}_${name}_${uid}/main`));
    await pods.agent.until("so are logs", () => logs().length <= 2);
    const messages = () => readdirSync(box.path(`/var/lib/kubelet/pods/${uid}/containers/main`));
    await pods.agent.until("so are messages", () => messages().length <= 2);
  });

  test("a pod for another operating system is refused", async () => {
    await pods.until("other-os", (pod) => pod?.status?.phase === "Failed", "is refused");
    const status = (await pods.pod("other-os"))?.status;
    assert.equal(status?.reason, "PodOSNotSupported");
    assert.match(status?.message ?? "", /^Pod was rejected: /);
  });
});
