// What a program that embeds the agent sees of it, in a world whose machine and runtime are fakes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../src/api/observation.ts";
import { type Agent, startAgent } from "../../src/library.ts";
import { startWorld } from "./world.ts";

test("an embedder sees statuses, events, decisions and the end of the agent, and no module", async () => {
  let started: Agent | undefined;
  await using world = await startWorld({
    start: async (...start) => {
      started = await startAgent(...start);
      return started;
    },
  });
  assert.ok(started);
  const agent: Agent = started;
  assert.deepEqual(Object.keys(agent).sort(), ["decisions", "events", "statuses", "untilLeaving"]);
  // @ts-expect-error modules are no part of it
  assert.equal(agent.pipeline, undefined);

  const reasons: string[] = [];
  const phases: (string | undefined)[] = [];
  agent.events.addWatcher("test", ({ reason }) => void reasons.push(reason ?? ""));
  const end = agent.statuses.subscribe((_, now) => void phases.push(now?.status.phase));
  await world.run("web", { kind: "polite" });
  const uid = "uid-web" as PodUid;
  await world.until(() => agent.statuses.get(uid)?.status.phase === "Running", "web runs");
  end();
  assert.ok(phases.includes("Running"));
  assert.deepEqual(
    agent.statuses.list().map((each) => each.uid),
    [uid],
  );
  await world.until(() => reasons.includes("Started"), "a watcher receives the start");
  assert.ok(agent.events.list().some(({ reason }) => reason === "Started"));
  const decisions = await agent.decisions.read({ uid });
  assert.ok(
    decisions.some(({ kind }) => kind === "startContainer"),
    JSON.stringify(decisions),
  );

  const leave = new AbortController();
  const leaving = agent.untilLeaving(leave.signal);
  leave.abort(new Error("enough"));
  await leaving;
});
