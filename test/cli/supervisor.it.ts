// What `up` does about an agent that is stopped or was left alone, and what it leaves alone.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { bareMachine, type NodeBox } from "./node-box.ts";

const READY = /pod default\/hello-\S+: Running, 1\/1 ready$/m;

interface Note {
  readonly supervisor: { readonly pid: number };
  readonly agent?: { readonly pid: number };
}

function noteOf(node: NodeBox): Note {
  return JSON.parse(readFileSync(node.box.path("/run/nodelet/up.json"), "utf8")) as Note;
}

/** The one process of the pod's server, which forks for a moment to answer a probe. */
async function httpdOf(node: NodeBox): Promise<string> {
  let found: readonly string[] = [];
  await until("one httpd runs", async () => {
    found = await node.pids("httpd");
    return found.length === 1;
  });
  return found[0] ?? "";
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000 * TIMEOUT_FACTOR;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within a minute: ${what}`);
    await sleep(100);
  }
}

test("an agent that is stopped is replaced, one that is stopped for a moment is not, and the pod does not notice", async () => {
  await using node = await bareMachine();
  const up = node.start(["up", "--demo"]);
  await up.reported(READY);
  const pid = await httpdOf(node);
  const agent = `${noteOf(node).agent?.pid}`;

  // Longer than an answer may take, shorter than it takes to be given up.
  await node.box.run(["kill", "-STOP", agent]);
  await sleep(15_000);
  await node.box.run(["kill", "-CONT", agent]);
  await sleep(15_000);
  assert.doesNotMatch(up.text, /replaced/);
  assert.equal(`${noteOf(node).agent?.pid}`, agent);

  const from = up.text.length;
  await node.box.run(["kill", "-STOP", agent]);
  await up.reported(
    /has not answered 3 times in a row \(its process is stopped\); replacing it/,
    from,
  );
  await up.reported(/the agent exited with code 0/, from);
  await up.reported(/node \S+: Ready/, from);
  assert.notEqual(`${noteOf(node).agent?.pid}`, agent);
  assert.equal(await httpdOf(node), pid);
  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running +0 /m);
  assert.equal(await up.interrupt(), 0);
});

test("an agent goes on without its supervisor, and a new up takes it over", async () => {
  await using node = await bareMachine();
  await node.run("up", "--demo", "--detach", "--until-ready");
  const pid = await httpdOf(node);
  const first = noteOf(node);
  await node.box.run(["kill", "-KILL", `${first.supervisor.pid}`]);
  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running +0 /m);

  await node.run("up", "--detach");
  await until("a new supervisor", () => noteOf(node).supervisor.pid !== first.supervisor.pid);
  assert.deepEqual(noteOf(node).agent, first.agent, "the agent is the same");
  assert.equal(await httpdOf(node), pid);

  // It is supervised as one that this supervisor has started itself.
  await node.box.run(["kill", "-KILL", `${first.agent?.pid}`]);
  await until("another agent", () => {
    const now = noteOf(node).agent?.pid;
    return now !== undefined && now !== first.agent?.pid;
  });
  await until("the agent answers", async () => (await node.nodelet(["get", "pods"])).code === 0);
  assert.equal(await httpdOf(node), pid);
  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running +0 /m);

  // In the foreground it is taken over too, and Ctrl-C ends it.
  const second = noteOf(node);
  await node.box.run(["kill", "-KILL", `${second.supervisor.pid}`]);
  const up = node.start(["up"]);
  await up.reported(READY);
  assert.match(up.text, /agent is already running \(process \d+\); supervising it from now on/);
  assert.deepEqual(noteOf(node).agent, second.agent);
  assert.equal(await up.interrupt(), 0);
  assert.ok(!existsSync(node.box.path("/run/nodelet/up.json")));
  assert.equal((await node.nodelet(["get", "pods"])).code, 4, "the agent has stopped");
  assert.equal(await httpdOf(node), pid);
  assert.match(await node.run("down"), /Done: nothing of nodelet is running/);
});
