// Every state file × every damage: the agent starts, says so, and no pod notices.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { dirname } from "node:path";
import { test } from "node:test";
import type { StateProblem } from "../../src/kit/state/state-files.ts";
import { type Box, withBox } from "../box/box.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";

const ROOT = "/var/lib/kubelet";
const PODS = 3;
/** Far more than a start takes on a busy machine, and less than files of any size take to be read. */
const START_MS = 45_000;
/** A file that is there and gives EIO to whoever reads it: the memory of a process at address 0. */
const UNREADABLE = "/proc/1/mem";

/** What is done to a file; whether the agent has to report it. */
interface Damage {
  readonly reported: boolean;
  readonly apply: (path: string, box: Box) => Promise<void> | void;
  readonly undo?: (path: string, box: Box) => Promise<void>;
}

const replace = (content: (before: string) => string) => (path: string, box: Box) => {
  const file = box.path(path);
  writeFileSync(file, content(readFileSync(file, "utf8")));
};

const DAMAGES: Readonly<Record<string, Damage>> = {
  missing: { reported: false, apply: (path, box) => rmSync(box.path(path)) },
  empty: { reported: true, apply: replace(() => "") },
  zeros: { reported: true, apply: replace((before) => "\0".repeat(before.length || 512)) },
  "1 TB of nothing": {
    reported: true,
    apply: (path, box) => truncateSync(box.path(path), 2 ** 40),
  },
  "cut off": { reported: true, apply: replace((before) => before.slice(0, before.length / 2)) },
  garbage: { reported: true, apply: replace(() => "\0\x7fgarbage\n\xffmore of it\n") },
  folder: {
    reported: true,
    apply: (path, box) => {
      rmSync(box.path(path));
      mkdirSync(box.path(`${path}/with/more`), { recursive: true });
    },
  },
  "input/output error": {
    reported: true,
    apply: async (path, box) => {
      await box.run(["mount", "--bind", UNREADABLE, path]);
    },
    undo: async (path, box) => {
      await box.run(["umount", path]);
    },
  },
  "newer version": {
    reported: true,
    apply: replace(() => '{"format":99,"version":99,"apiVersion":"v99","kind":"Newer"}\n'),
  },
};

/** The newest state file of each kind; those of lines may end in the middle of a line. */
function stateFiles(box: Box): ReadonlyMap<string, { path: string; lines: boolean }> {
  const newest = (folder: string, name: RegExp) => {
    const found = readdirSync(box.path(`${ROOT}/${folder}`)).filter((each) => name.test(each));
    const last = found.toSorted().at(-1);
    assert.ok(last !== undefined, `nothing in ${folder} fits ${name}`);
    return `${ROOT}/${folder}/${last}`;
  };
  const whole = (path: string) => ({ path, lines: false });
  const lines = (path: string) => ({ path, lines: true });
  return new Map([
    ["statuses of pods", lines(`${ROOT}/nodelet/pod-statuses.jsonl`)],
    ["allocations", whole(`${ROOT}/allocated_pods_state`)],
    ["actuated allocations", whole(`${ROOT}/actuated_pods_state`)],
    ["times of images", whole(`${ROOT}/nodelet/images.json`)],
    ["record of a pull", whole(newest("image_manager/pulled", /^sha256-[0-9a-f]+$/))],
    ["devices", whole(`${ROOT}/device-plugins/kubelet_internal_checkpoint`)],
    ["journal", lines(newest("nodelet/journal", /\.jsonl$/))],
    ["history of events", lines(newest("nodelet/events", /^lifecycle-.*\.jsonl$/))],
  ]);
}

/** What the agent answers on its socket. */
function ask(box: Box, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socketPath = box.path("/run/nodelet/agent.sock");
    const asked = request({ socketPath, path }, async (reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk as Buffer);
      resolve(Buffer.concat(chunks).toString());
    });
    asked.once("error", reject).end();
  });
}

async function problemsOf(box: Box): Promise<readonly StateProblem[]> {
  const { items } = JSON.parse(await ask(box, "/nodelet/v1/state-files")) as {
    items: StateProblem[];
  };
  return items;
}

/** Containers with their attempts. */
function containersOf(agent: BoxedAgent): readonly string[] {
  return [...agent.statuses().values()]
    .flatMap(({ containerStatuses = [] }) => containerStatuses)
    .map(({ containerID, restartCount }) => `${containerID} ${restartCount}`)
    .toSorted();
}

test("each state file × each damage: the agent starts, says so, and no container is touched", (t) =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    for (let i = 0; i < PODS; i += 1) agent.apply(`p${i}.yaml`, manifest(`p${i}`));
    await agent.untilReady(PODS);
    const before = containersOf(agent);
    const running = (await box.ctr("tasks", "list", "-q")).split("\n").toSorted();
    const damages = Object.entries(DAMAGES);
    // Every start meets all files, each with another damage; after as many starts each file had them all.
    for (const [turn] of damages.entries()) {
      await agent.kill();
      seed(box);
      const done: { file: string; damage: string; path: string; lines: boolean }[] = [];
      for (const [at, [file, { path, lines }]] of [...stateFiles(box)].entries()) {
        const [damage = "", how] = damages[(turn + at) % damages.length] ?? [];
        await how?.apply(path, box);
        done.push({ file, damage, path, lines });
      }
      const began = performance.now();
      await agent.start();
      const tookMs = Math.round(performance.now() - began);
      assert.ok(tookMs < START_MS, `the start took ${tookMs} ms`);
      t.diagnostic(`started in ${tookMs} ms with ${done.map((each) => each.damage).join(", ")}`);
      const problems = await problemsOf(box);
      const metrics = await ask(box, "/metrics");
      for (const { file, damage, path, lines } of done) {
        const about = `${file}, ${damage}`;
        const found = problems.find((each) => each.path === path || each.path.endsWith("-*.jsonl"));
        // A crash may cut a file of lines within the last one: that is no damage.
        const reported = DAMAGES[damage]?.reported && !(lines && damage === "cut off");
        if (reported) {
          const own = problems.find((each) => each.path === path);
          const stated = own ?? (damage === "input/output error" ? found : undefined);
          assert.ok(stated, `${about}: not reported in ${JSON.stringify(problems)}`);
          assert.ok(agent.log().includes(path), `${about}: not logged`);
          assert.match(
            metrics,
            new RegExp(
              `nodelet_state_files_(set_aside_total|in_memory)\\{file="${stated.file}"\\}`,
            ),
            about,
          );
        }
        await DAMAGES[damage]?.undo?.(path, box);
      }
      await agent.until("all pods have their statuses again", () => {
        const now = containersOf(agent);
        return now.length === before.length;
      });
      assert.deepEqual(containersOf(agent), before, `turn ${turn}`);
      assert.deepEqual((await box.ctr("tasks", "list", "-q")).split("\n").toSorted(), running);
    }
    const output = await box.run([process.execPath, PROGRAM, "why", "--node"]);
    assert.match(output, /set aside {2}\/var\/lib\/kubelet\//);
  }));

/** Puts in place what nothing on this node has written, or not again yet. */
function seed(box: Box): void {
  const empty = (path: string, content: object) => {
    const file = box.path(`${ROOT}/${path}`);
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(content)}\n`);
  };
  const imageRef = "sha256:0";
  empty(`image_manager/pulled/sha256-${"0".repeat(64)}`, { kind: "ImagePulledRecord", imageRef });
  empty("allocated_pods_state", { data: "{}", checksum: 0 });
  empty("actuated_pods_state", { data: "{}", checksum: 0 });
  empty("nodelet/images.json", { format: 1, images: [], wanted: [] });
  empty("device-plugins/kubelet_internal_checkpoint", { Data: {}, Checksum: 0 });
  empty("nodelet/events/lifecycle-00000000.jsonl", {});
}
