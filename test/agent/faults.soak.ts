// The rows of docs/faults.md for real: pods with every kind of probe on a node whose disk, descriptors, runtime, network or
// API server fail for a while. NODELET_FAULTS (all) names rows, by a part of their names, separated by commas.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, CoreEventList, Lease } from "../../src/api/generated/types.ts";
import type { ProbeReport } from "../../src/subsystems/probes/probes.ts";
import { type Box, startBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { type ApiServer, apiServerObstacle, startApiServer } from "../kube/apiserver.ts";
import { ClusterNode, conditionOf, NODE, PODS, podOf } from "../kube/cluster-node.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { LoopDevice, loopObstacle } from "../support/loop-device.ts";

/** The agent's own state is on a disk of its own: files of pods would keep a broken one mounted. */
const STATE = "/var/lib/kubelet/nodelet";
const WANTED = (process.env["NODELET_FAULTS"] ?? "").split(",");
/** How long a pod may take once the fault is over: as long as the longest pause of what is tried again, and some more. */
const SETTLE_MS = 180_000;
/** Bytes a second that a slow disk writes. */
const SLOW_BYTES = 16_384;
/** `EXT4_IOC_SHUTDOWN` without flushing the log: from then on the file system answers everything with EIO. */
const SHUT_DOWN =
  'open(F, "<", $ARGV[0]) or die; $how = pack("L", 2); ioctl(F, 0x8004587d, $how) or die $!';
const API_PORT = "6443";
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`;
const EVENTS = "/api/v1/namespaces/default/events";
const PROBE_PERIOD_SECONDS = 3;

interface Row {
  readonly name: string;
  readonly seconds: number;
  /** What the log, `why --node` or the node says at some time. */
  readonly reported: RegExp | undefined;
  /** Nothing that a probe needs fails: each goes on at its times. */
  readonly probesGoOn?: true;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

let box: Box;
let server: ApiServer;
let node: ClusterNode;
let disk: LoopDevice;

const sh = (script: string) => box.run(["sh", "-c", script]);
const mountDisk = () => box.run(["mount", disk.path, STATE]);
/** nsenter(1), by which a program of the box was started from outside, stops and goes on with it only on SIGCONT. */
const signal = async (program: string, name: string) => {
  const pid = (await sh(`kill -${name} $(pgrep -x ${program}) && pgrep -x ${program}`)).trim();
  if (name !== "CONT") return;
  for (const each of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)))
    if (readStatus(each, "NSpid").at(-1) === pid)
      process.kill(Number(readStatus(each, "PPid")[0]), "SIGCONT");
};
const readStatus = (pid: string, field: string): readonly string[] => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return new RegExp(`^${field}:\\s+(.*)$`, "m").exec(status)?.[1]?.split(/\s+/) ?? [];
  } catch {
    return [];
  }
};
/** Sets the agent's soft limit of descriptors; its hard limit is what it had. */
const limitDescriptors = async (limit?: number) => {
  const pid = await node.agent.pid();
  const [, hard = ""] =
    /^Max open files +\d+ +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8")) ?? [];
  execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${limit ?? hard}:`]);
};
/** Both directions of the connections to the API server: neither side learns that the other is gone. */
const rules = (change: "-I" | "-D", match: readonly string[]) =>
  sh(
    ["--dport", "--sport"]
      .map(
        (side) => `iptables ${change} INPUT -p tcp ${side} ${API_PORT} ${match.join(" ")} -j DROP`,
      )
      .join(" && "),
  );
const throttle = (bytes: number) =>
  writeFileSync(
    box.cgroupPath("/blkio.throttle.write_bps_device", "blkio"),
    `${disk.number} ${bytes}`,
  );
const LOSS = ["-m", "statistic", "--mode", "random", "--probability", "0.01"];

const ROWS: readonly Row[] = [
  {
    name: "ENOSPC",
    seconds: 45,
    reported: /no space left on device/,
    begin: () => sh(`cat /dev/zero >${STATE}/filler 2>/dev/null || true; sync`).then(() => {}),
    end: () => sh(`rm ${STATE}/filler`).then(() => {}),
  },
  {
    name: "EMFILE",
    seconds: 45,
    reported: /EMFILE|too many open files/,
    begin: async () => {
      const open = readdirSync(`/proc/${await node.agent.pid()}/fd`).length;
      await limitDescriptors(Math.max(8, open - 4));
    },
    end: () => limitDescriptors(),
  },
  {
    name: "EIO",
    seconds: 45,
    reported: /EIO/,
    begin: () => box.run(["perl", "-e", SHUT_DOWN, STATE]).then(() => {}),
    end: async () => {
      // As after a repair: the same disk in the same place. Until nobody has a file of it open it stays broken.
      await node.agent.until("the disk can be written again", async () => {
        await sh(`umount -l ${STATE}`);
        await mountDisk();
        return (await box.exec(["touch", `${STATE}/repaired`])).code === 0;
      });
    },
  },
  {
    name: "slow disk",
    seconds: 60,
    reported: undefined,
    begin: () => throttle(SLOW_BYTES),
    end: () => throttle(0),
  },
  {
    name: "read-only remount",
    seconds: 45,
    reported: /EROFS/,
    begin: () => sh(`mount -o remount,ro ${STATE}`).then(() => {}),
    end: () => sh(`mount -o remount,rw ${STATE}`).then(() => {}),
  },
  {
    name: "containerd hanging",
    seconds: 130,
    reported: /runtime-listing/,
    begin: () => signal("containerd", "STOP").then(() => {}),
    end: () => signal("containerd", "CONT").then(() => {}),
  },
  {
    name: "API server hanging",
    seconds: 100,
    reported: /lease/,
    probesGoOn: true,
    begin: () => signal("kube-apiserver", "STOP").then(() => {}),
    end: () => signal("kube-apiserver", "CONT").then(() => {}),
  },
  {
    name: "half-open connections",
    seconds: 100,
    reported: /lease/,
    probesGoOn: true,
    begin: () => rules("-I", []).then(() => {}),
    end: () => rules("-D", []).then(() => {}),
  },
  {
    name: "1 % packet loss",
    seconds: 60,
    reported: undefined,
    probesGoOn: true,
    begin: () => rules("-I", LOSS).then(() => {}),
    end: () => rules("-D", LOSS).then(() => {}),
  },
];

/** A container with a liveness and a readiness probe by a handler. */
function probed(name: string, command: readonly string[], handler: object): Container {
  // Longer than a busy machine takes, so that only a wrong verdict fails.
  const times = { periodSeconds: PROBE_PERIOD_SECONDS, timeoutSeconds: 10, failureThreshold: 2 };
  const probe = { ...handler, ...times };
  const base = { name, image: TEST_IMAGE, command: [...command] };
  return { ...base, livenessProbe: probe, readinessProbe: probe };
}

const HTTP = ["sh", "-c", "trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait $!"];

before(
  async () => {
    if (apiServerObstacle() || loopObstacle()) return;
    box = await startBox({});
    const made = LoopDevice.over(join(box.folder, "disk"));
    assert.ok(made, "no loop device is free");
    disk = made;
    execFileSync("mkfs.ext4", ["-q", "-m", "0", disk.path]);
    await box.run(["mkdir", "-p", STATE]);
    await mountDisk();
    server = await startApiServer({ box });
    const agent = await BoxedAgent.start(box, {
      clientCaFile: server.caFile,
      flags: [`--hostname-override=${NODE}`, `--kubeconfig=${await server.nodeKubeconfig(NODE)}`],
    });
    node = new ClusterNode(agent, server);
    await node.untilNodeReady();
    const containers = [
      probed("http", HTTP, { httpGet: { path: "/", port: 8080 } }),
      probed("tcp", STAY, { tcpSocket: { port: 8080 } }),
      probed("exec", STAY, { exec: { command: ["true"] } }),
    ];
    await server.must("POST", PODS, podOf("serves", { containers }));
    agent.apply("fixed.yaml", manifest("fixed"));
    await node.untilReady("serves");
    await node.untilReady(`fixed-${NODE}`);
  },
  { timeout: 300_000 },
);

after(async () => {
  await box?.dispose();
  disk?.detach();
});

/** Containers of the pods that run all the time, with their restarts. */
async function lives(): Promise<readonly string[]> {
  const pods = await Promise.all(["serves", `fixed-${NODE}`].map((name) => node.pod(name)));
  return pods.flatMap((pod) =>
    (pod?.status?.containerStatuses ?? []).map(
      ({ containerID, restartCount, state }) =>
        `${containerID} ${restartCount} ${state?.running ? "runs" : "ended"}`,
    ),
  );
}

/** Probes of the pod that has one of every kind. */
async function probes(): Promise<readonly ProbeReport[]> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const path = "/nodelet/v1/probes";
  const { body } = await answerOf(request({ socketPath, path, agent: false }));
  const { items } = JSON.parse(body) as { readonly items: readonly ProbeReport[] };
  return items.filter(({ podName }) => podName === "serves");
}

const failures = (all: readonly ProbeReport[]) =>
  all.reduce((sum, { counts }) => sum + counts.failed, 0);

/** Fails unless every probe went on at its period for that long, without failing; says how late they were. */
async function judgeProbes(before: readonly ProbeReport[], seconds: number): Promise<string> {
  const now = await probes();
  assert.equal(now.length, 6, "a liveness and a readiness probe of three containers");
  assert.equal(failures(now), failures(before), "probes failed");
  const least = Math.min(
    ...now.map(({ container, kind, counts }) => {
      const was = before.find((each) => each.container === container && each.kind === kind);
      return counts.successful - (was?.counts.successful ?? 0);
    }),
  );
  assert.ok(least > (0.8 * seconds) / PROBE_PERIOD_SECONDS, `${least} attempts in ${seconds} s`);
  const late = now.flatMap(({ history }) => history.map(({ lateMs }) => lateMs));
  return `${least} attempts of the rarest probe in ${seconds} s, at most ${Math.max(...late).toFixed(0)} ms late`;
}

/** When the node's lease was last renewed, as it says. */
const renewed = async () => (await node.get<Lease>(LEASE))?.spec?.renewTime;

/** How often a container of a pod was started, by the events of the pod. */
async function starts(name: string): Promise<number> {
  const list = await server.must<CoreEventList>("GET", EVENTS);
  return (list.items ?? [])
    .filter(({ involvedObject, reason }) => involvedObject.name === name && reason === "Started")
    .reduce((sum, { count, series }) => sum + (series?.count ?? count ?? 1), 0);
}

const skip = apiServerObstacle() ?? loopObstacle() ?? false;

for (const [at, row] of ROWS.entries()) {
  if (!WANTED.some((part) => row.name.includes(part))) continue;
  test(`${row.name} for ${row.seconds} s: what runs goes on, it is reported, all is well after`, {
    skip,
  }, async (t) => {
    const { agent } = node;
    const was = await lives();
    assert.equal(was.filter((line) => / 0 runs$/.test(line)).length, 4, was.join("; "));
    const logged = agent.log().length;
    const probed = await probes();
    await row.begin();
    let reported = "";
    try {
      const until = performance.now() + row.seconds * 1000;
      await server.must("POST", PODS, podOf(`late-${at}`)).catch(() => {});
      while (performance.now() < until) {
        await sleep(5_000);
        reported += await agent.command("why", "--node").catch(() => "");
      }
      if (row.probesGoOn) t.diagnostic(await judgeProbes(probed, row.seconds));
    } finally {
      await row.end();
    }
    const over = performance.now();
    const sinceSeconds = () => Math.round((performance.now() - over) / 1000);
    if ((await node.pod(`late-${at}`)) === undefined)
      await agent.until(
        "the API takes a pod",
        async () =>
          await server.must("POST", PODS, podOf(`late-${at}`)).then(
            () => true,
            () => false,
          ),
        SETTLE_MS,
      );
    const last = await renewed();
    await agent.until("the lease is renewed", async () => (await renewed()) !== last, SETTLE_MS);
    t.diagnostic(`the lease is renewed ${sinceSeconds()} s after the fault`);
    await agent.until(
      "a new pod is Ready",
      async () => conditionOf(await node.pod(`late-${at}`), "Ready") === "True",
      SETTLE_MS,
    );
    t.diagnostic(`a new pod is Ready ${sinceSeconds()} s after the fault`);
    await agent.until(
      "nothing is wrong any more",
      async () => {
        const why = await agent.command("why", "--node").catch(() => "not answered");
        return !/health check fails|cannot be written|not ready|not answered/.test(why);
      },
      SETTLE_MS,
    );
    assert.ok(agent.running, "the agent has ended");
    assert.deepEqual(await lives(), was);
    assert.equal(await starts(`late-${at}`), 1, "the new pod was started once");
    if (row.reported) assert.match(reported + agent.log().slice(logged), row.reported);
  });
}
