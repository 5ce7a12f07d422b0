// Pods with ids of their own, on a containerd and a runc that know id-mapped mounts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { BoxOptions } from "../box/box.ts";
import { usualContainerd } from "../box/containerd.ts";
import { staying, withNode } from "../volumes/world.ts";

/** Today's in a whole run, else the oldest that can. */
const NEWER: BoxOptions =
  usualContainerd() === "2.4" ? { containerd: "2.4" } : { containerd: "2.1", runc: "1.3" };

test("hostUsers false: root inside is nobody outside, volumes keep their owners, ids are kept and given back", () =>
  withNode(
    async ({ agent, inside, run, box }) => {
      await box.run([
        "sh",
        "-c",
        "mkdir -p /var/lib/nodelet/v && echo host > /var/lib/nodelet/v/file",
      ]);
      const mounts = [
        { name: "scratch", mountPath: "/scratch" },
        { name: "node", mountPath: "/node" },
        { name: "memory", mountPath: "/memory" },
      ];
      await run({
        hostUsers: false,
        securityContext: { fsGroup: 3000 },
        volumes: [
          { name: "scratch", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory" } },
          { name: "node", hostPath: { path: "/var/lib/nodelet/v" } },
        ],
        containers: [staying("main", { volumeMounts: mounts })],
      });
      const [uid = ""] = agent.statuses().keys();
      const file = `/var/lib/kubelet/pods/${uid}/userns`;
      const kept = JSON.parse(await box.run(["cat", file])) as {
        uidMappings: readonly { hostId: number; containerId: number; length: number }[];
      };
      const [mapping] = kept.uidMappings;
      assert.deepEqual(mapping, { hostId: 65_536, containerId: 0, length: 65_536 });
      const map = (await inside("cat /proc/self/uid_map")).trim().split(/\s+/).map(Number);
      assert.deepEqual(map, [0, 65_536, 65_536]);
      assert.equal((await inside("id -u")).trim(), "0");
      // What root does in its volumes belongs to the node's root on the disk: the mounts translate.
      const touched =
        "touch /scratch/a /memory/a /node/a; stat -c %u:%g /scratch/a /memory/a /node/file";
      assert.equal(await inside(touched), "0:3000\n0:3000\n0:0\n");
      assert.equal(await box.run(["stat", "-c", "%u", "/var/lib/nodelet/v/a"]), "0\n");
      // The kernel knows the process by other ids.
      const [pid = ""] = (await box.ctr("tasks", "ls", "-q")).trim().split("\n");
      const tasks = await box.ctr("tasks", "ls");
      const pids = tasks.split("\n").flatMap((line) => /\s(\d+)\s+RUNNING/.exec(line)?.[1] ?? []);
      assert.ok(pid !== "" && pids.length >= 2, tasks);
      for (const each of pids) {
        const status = readFileSync(box.path(`/proc/${each}/status`), "utf8");
        assert.match(status, /^Uid:\s+65536\s/m);
      }

      await agent.kill();
      await agent.start();
      agent.apply("second.yaml", {
        metadata: { name: "second" },
        spec: { hostUsers: false, containers: [staying()] },
      });
      await agent.untilReady(2);
      const ranges = await box.run(["sh", "-c", "cat /var/lib/kubelet/pods/*/userns"]);
      assert.deepEqual(
        [...new Set([...ranges.matchAll(/"hostId":(\d+)/g)].map(([, id]) => id))].sort(),
        ["131072", "65536"],
      );
      agent.remove("pod.yaml");
      await agent.until("the first is gone", () => agent.statuses().size === 1);
      agent.apply("third.yaml", {
        metadata: { name: "third" },
        spec: { hostUsers: false, containers: [staying()] },
      });
      await agent.untilReady(2);
      assert.match(
        await box.run(["sh", "-c", "cat /var/lib/kubelet/pods/*/userns"]),
        /"hostId":65536/,
      );
    },
    { box: NEWER },
  ));

test("the machine's facts say whether the agent runs in a user namespace", () => {
  const facts = join(import.meta.dirname, "../../src/outside/host/facts.ts");
  const script = `import(${JSON.stringify(facts)}).then((facts) => console.log(facts.readHostFacts().inUserNamespace))`;
  const [node, argv] = [process.execPath, ["--input-type=module", "-e", script]] as const;
  const read = (program: string, args: readonly string[]) =>
    execFileSync(program, args, { encoding: "utf8" }).trim();
  assert.equal(read(node, argv), "false");
  assert.equal(read("unshare", ["--user", "--map-root-user", node, ...argv]), "true");
});

test("procMount Unmasked shows what is hidden otherwise", () =>
  withNode(
    async ({ inside, run }) => {
      await run({
        hostUsers: false,
        containers: [
          staying("main", { securityContext: { procMount: "Unmasked" } }),
          staying("masked"),
        ],
      });
      const hidden = "grep -c ' /proc/' /proc/self/mountinfo || true";
      assert.equal((await inside(hidden)).trim(), "0");
      assert.notEqual((await inside(hidden, "masked")).trim(), "0");
    },
    { box: NEWER },
  ));

test("a runtime that knows no user namespaces is reported so", () =>
  withNode(
    async ({ agent }) => {
      agent.apply("pod.yaml", {
        metadata: { name: "pod" },
        spec: { hostUsers: false, containers: [staying()] },
      });
      const reported =
        "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces";
      await agent.until("it says why", () => agent.log().includes(reported));
    },
    { box: { containerd: "1.7" } },
  ));
