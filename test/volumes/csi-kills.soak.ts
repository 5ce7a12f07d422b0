// Agent, driver or both are killed with SIGKILL while a volume comes and goes: 50 times (NODELET_CSI_KILLS), on a real file system.
// A third of the kills each is before the driver's work in a call, after it and before its answer, and at any moment.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createSeededRandom } from "../../src/kit/random.ts";
import { type CsiNodeBox, csiObstacle, DRIVER, keyOf, withDriver } from "./csi-node-box.ts";
import { staying } from "./world.ts";

const KILLS = Number(process.env["NODELET_CSI_KILLS"] ?? 50);
const VICTIMS = ["agent", "driver", "both"] as const;
const CALLS = ["St", "Pb", "Up", "Us"] as const;
/** How long each call takes before its work and after it. */
const SLOW_MS = 300;
/** Longest time from the beginning of a pod's start or end to a kill at any moment. */
const LIFE_MS = 2_500;

interface Kill {
  readonly victim: (typeof VICTIMS)[number];
  /** The call that is interrupted; of kills at any moment whether the pod begins or ends. */
  readonly call: (typeof CALLS)[number];
  readonly when: "before its work" | "after its work" | number;
}

const random = createSeededRandom(1);

function killOf(round: number): Kill {
  const victim = VICTIMS[round % 3] ?? "agent";
  const call = CALLS[Math.floor(round / 3) % 4] ?? "St";
  const when = [
    "before its work" as const,
    "after its work" as const,
    Math.floor(random.next() * LIFE_MS),
  ][Math.floor(round / 12) % 3];
  return { victim, call, when: when ?? 0 };
}

/** Waits for the moment and kills. */
async function strike(csi: CsiNodeBox, { victim, call, when }: Kill): Promise<void> {
  if (typeof when === "number") await setTimeout(when);
  else {
    await csi.node.agent.until(`the driver works at ${call}`, async () =>
      csi.calls("disk").split(" ").includes(call),
    );
    await setTimeout(when === "before its work" ? SLOW_MS / 2 : SLOW_MS * 1.5 + 100);
  }
  if (victim !== "agent") await csi.killDriver();
  if (victim !== "driver") await csi.node.agent.kill();
}

/** What must hold while nobody is at work: nothing is mounted twice, and what is staged is in use. */
async function check(csi: CsiNodeBox, what: string): Promise<void> {
  const mounts = (await csi.box.run(["cat", "/proc/self/mountinfo"]))
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.includes("kubernetes.io~csi") || path.includes("kubernetes.io/csi"));
  assert.equal(new Set(mounts).size, mounts.length, `${what}: mounted twice: ${mounts}`);
  const isStaged = mounts.some((path) => path.endsWith("globalmount"));
  const isPublished = mounts.some((path) => path.endsWith("/mount"));
  assert.ok(isStaged || !isPublished, `${what}: published and not staged`);
  if (isStaged) assert.deepEqual(await csi.inUse(), [keyOf("disk")], `${what}: may be detached`);
  assert.equal(csi.violations, "", what);
}

async function revive(csi: CsiNodeBox, { victim }: Kill): Promise<void> {
  if (victim !== "agent") csi.startDriver();
  if (victim !== "driver") await csi.node.agent.start();
}

/** A pod writes a line to the volume, which has those of all before it. */
async function round(csi: CsiNodeBox, number: number, before: unknown): Promise<string> {
  const kill = killOf(number);
  const what = `round ${number}: ${kill.victim} killed, ${kill.call}, ${kill.when}`;
  const name = `writer-${number}`;
  csi.forgetCalls();
  const isAtStart = kill.call === "St" || kill.call === "Pb";
  const volumeMounts = [{ name: "disk", mountPath: "/disk" }];
  await csi.start(name, ["disk"], { containers: [staying("main", { volumeMounts })] });
  if (isAtStart) {
    await strike(csi, kill);
    await check(csi, what);
    await revive(csi, kill);
  }
  await csi.node.untilReady(name);
  await check(csi, what);
  const written = await csi.inside(name)(`echo ${number} >> /disk/log; sync; cat /disk/log`);
  assert.equal(written, Array.from({ length: number + 1 }, (_, i) => `${i}\n`).join(""), what);
  if (!isAtStart) csi.forgetCalls();
  await csi.remove(name);
  if (!isAtStart) {
    await strike(csi, kill);
    await check(csi, what);
    await revive(csi, kill);
  }
  await csi.untilGone(before);
  return what;
}

test(
  `${KILLS} kills of agent and driver: data whole, nothing mounted twice, nothing left`,
  {
    skip: csiObstacle() ?? false,
  },
  (t) =>
    withDriver(async (csi) => {
      const slow = Object.fromEntries(CALLS.map((call) => [call, SLOW_MS]));
      writeFileSync(join(csi.folder, "slow"), JSON.stringify(slow));
      const disk = { driver: DRIVER, volumeHandle: "disk", fsType: "ext4" };
      await csi.claimed("disk", { csi: { ...disk, volumeAttributes: { disk: "ext4" } } });
      const before = await csi.traces();
      await csi.start("first", ["disk"]);
      await csi.node.agent.until("the volume is in use", async () =>
        (await csi.inUse()).includes(keyOf("disk")),
      );
      await csi.attach("disk");
      await csi.node.untilReady("first");
      await csi.remove("first");
      await csi.untilGone(before);
      const began = performance.now();
      for (let number = 0; number < KILLS; number += 1)
        t.diagnostic(await round(csi, number, before));
      t.diagnostic(`${KILLS} kills in ${Math.round((performance.now() - began) / 1000)} s`);
      const image = join(csi.folder, "disk.disk");
      assert.match(await csi.box.run(["e2fsck", "-fn", image]), /disk.*files/);
      assert.equal(await csi.box.run(["losetup", "-j", image]), "");
    }),
);
