import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, anAttempt, aPod, aRecord } from "../../../../test/support/pods.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import type { StopRequest } from "../plan/actions.ts";
import { inTurn } from "../plan/stop-order.ts";
import type { PodPorts } from "../ports.ts";
import type { Run } from "./run.ts";
import { stopContainers } from "./stop-containers.ts";

const ALWAYS = { restartPolicy: "Always" };
const pod = aPod({
  initContainers: [aContainer("s1", ALWAYS), aContainer("s2", ALWAYS)],
});
const NAMES = ["a", "s1", "s2"];

interface World {
  /** Seconds of hooks, by container. */
  readonly hooks?: Readonly<Record<string, number>>;
  /** Seconds until a container ends that was asked to; one that is not named does at once. */
  readonly ends?: Readonly<Record<string, number>>;
  /** Containers that cannot be stopped. */
  readonly fails?: readonly string[];
  /** Containers that are killed, and take three seconds more to end. */
  readonly slow?: readonly string[];
  /** Thawing of the pod is recorded, and may fail. */
  readonly thaws?: "works" | "fails";
}

/** Runs the stop and returns its calls by second: `5 stop a(25)`. */
async function play(
  world: World,
  graceSeconds = 30,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly lines: readonly string[]; readonly faults: readonly string[] }> {
  const clock = new SimClock();
  const lines: string[] = [];
  const note = (text: string) => lines.push(`${clock.monotonic() / 1000} ${text}`);
  const wait = (seconds = 0) => clock.sleep(seconds * 1000, signal);
  const hooks: Pick<PodPorts["hooks"], "preStop"> = {
    preStop: async (_, { name, graceSeconds: grace }) => {
      const seconds = world.hooks?.[name];
      if (seconds === undefined) return 0;
      note(`hook ${name}`);
      await wait(Math.min(seconds, grace));
      return Math.min(seconds, grace);
    },
  };
  const runtime: Pick<PodPorts["runtime"], "stopContainer"> = {
    stopContainer: async (id, grace) => {
      const name = id.replace("-0", "");
      note(`stop ${name}(${grace})`);
      if (world.fails?.includes(name)) throw new Error("no answer");
      await wait(Math.min(world.ends?.[name] ?? 0, grace));
      if (world.slow?.includes(name)) await wait(3);
      note(`end ${name}`);
    },
  };
  const events: PodPorts["events"] = { ofPod: () => {} };
  const thawCgroup = async () => {
    if (world.thaws === undefined) return;
    note("thaw");
    if (world.thaws === "fails") throw new Error("EIO");
  };
  const prerequisites = { thawCgroup } as unknown as PodPorts["prerequisites"];
  const ports = { events, hooks, runtime, prerequisites } as PodPorts;
  const record = aRecord({ pod, containers: NAMES.map((name) => anAttempt(name)) });
  const deps = { clock, random: createSeededRandom(1), log: silentLog, ports };
  const run: Run = { record, deps, signal, sandboxId: "sb-0" };
  const stops = NAMES.map(
    (name): StopRequest => ({ id: `${name}-0`, name, graceSeconds, message: "", preStop: true }),
  );
  const done = stopContainers(inTurn(pod, stops), run);
  done.catch(() => {});
  await clock.advance(120_000);
  return { lines, faults: (await done).map(({ name }) => name) };
}

describe("stopContainers", () => {
  for (const thaws of ["works", "fails"] as const)
    test(`what is frozen is thawed before the stop, and when the grace is over: thawing ${thaws}`, async () => {
      const { lines } = await play({ thaws, ends: { a: 5 }, slow: ["a"] }, 5);
      const others = / s[12]|^[157] /;
      const ofFirst = lines.filter((line) => !others.test(line));
      assert.deepEqual(ofFirst, ["0 thaw", "0 stop a(5)", "6 thaw", "8 end a"]);
    });

  test("hooks run at once, also of sidecars, which then wait for their turn", async () => {
    const { lines } = await play({ hooks: { a: 2, s1: 3 }, ends: { a: 5, s2: 4, s1: 1 } });
    assert.deepEqual(lines, [
      "0 hook a",
      "0 hook s1",
      "2 stop a(28)",
      "7 end a",
      "7 stop s2(23)",
      "11 end s2",
      "11 stop s1(19)",
      "12 end s1",
    ]);
  });

  test("no turn is waited for when the grace is over; the runtime gets two seconds", async () => {
    const { lines } = await play({ ends: { a: 60, s1: 60, s2: 60 } }, 10);
    assert.deepEqual(lines, [
      "0 stop a(10)",
      "10 end a",
      "10 stop s2(2)",
      "10 stop s1(2)",
      "12 end s2",
      "12 end s1",
    ]);
  });

  test("a hook that lasts for the whole grace leaves two seconds", async () => {
    const { lines } = await play({ hooks: { a: 60 } }, 5);
    assert.deepEqual(lines.slice(0, 2), ["0 hook a", "5 stop a(2)"]);
  });

  test("without a grace there are no hooks", async () => {
    const { lines } = await play({ hooks: { a: 3 } }, 0);
    assert.deepEqual(
      lines.filter((line) => line.includes("hook")),
      [],
    );
    assert.ok(lines.includes("0 stop a(2)"));
  });

  test("who waits for one that cannot be stopped is not stopped either", async () => {
    const { lines, faults } = await play({ fails: ["a"] });
    assert.deepEqual([lines, faults], [["0 stop a(30)"], ["a"]]);
  });

  test("cancelled while a sidecar waits, it returns at once", async () => {
    const over = new AbortController();
    const stopped = play({ ends: { a: 20 } }, 30, over.signal);
    over.abort(new Error("superseded"));
    await assert.rejects(stopped, /superseded/);
  });
});
