// Groups of the system and of the agent itself, on the real kernel.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent } from "../support/agent.ts";
import { groupValue } from "../support/cgroup-box.ts";
import { pod, QUIET } from "./pods.ts";

const { version } = cgroupRoots();

const CONFIG = "cgroupRoot: /\nsystemCgroups: /machine\nkubeletCgroups: /agents/nodelet";

interface Summary {
  readonly node: {
    readonly systemContainers: readonly {
      readonly name: string;
      readonly memory: { readonly workingSetBytes: number };
    }[];
  };
}

const members = (box: Box, path: string): readonly number[] =>
  (groupValue(box, path, "cgroup.procs") ?? "").split("\n").filter(Boolean).map(Number);

const programOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();

test("processes of the root and the agent are moved into their groups, which the summary shows", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, {
      config: CONFIG,
      flags: ["--runtime-cgroups=/machine"],
    });
    const own = await agent.pid();
    await agent.until("the agent is in its group", () =>
      members(box, "/agents/nodelet").includes(own),
    );
    const path = `/agents/nodelet`;
    const groups = readFileSync(`/proc/${own}/cgroup`, "utf8").trim().split("\n");
    const elsewhere = groups.filter((line) => !line.endsWith(path) && !line.startsWith("0::"));
    assert.deepEqual(elsewhere, [], "in every hierarchy");
    const programs = () => members(box, "/machine").map(programOf);
    // With version 2 no process can be in the root of a box, which is none of the machine's.
    if (version === 1) {
      await agent.until("containerd is in the group of the system", () =>
        programs().includes("containerd"),
      );
      assert.ok(members(box, "/").includes(box.initPid), "process 1 stays");
    }
    agent.apply("a.yaml", pod("a", QUIET, undefined));
    await agent.untilReady();
    const socketPath = box.path("/run/nodelet/agent.sock");
    const { body } = await answerOf(request({ socketPath, path: "/stats/summary", agent: false }));
    const { systemContainers } = (JSON.parse(body) as Summary).node;
    assert.deepEqual(systemContainers.map(({ name }) => name).sort(), [
      "kubelet",
      "misc",
      "pods",
      "runtime",
    ]);
    const kubelet = systemContainers.find(({ name }) => name === "kubelet");
    assert.ok((kubelet?.memory.workingSetBytes ?? 0) > 0);
    const pods = readdirSync(box.cgroupPath("/kubepods/besteffort")).filter((name) =>
      name.startsWith("pod"),
    );
    assert.deepEqual(pods, ["poda"], "what the moved runtime starts is in the groups of pods");
  }));
