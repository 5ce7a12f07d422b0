// `nodelet events` against an agent that runs, and against what one has left on disk.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { CoreEvent } from "../../src/api/generated/types.ts";
import { runCommand } from "../../src/cli/cli.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { startEvents } from "../../src/subsystems/events/events.ts";
import { pod } from "../events/world.ts";
import { startWorld } from "../server/world.ts";
import { fakeIo } from "./fake-io.ts";

const NO_INTERRUPT = () => new AbortController().signal;

async function run(argv: readonly string[], socketPath = "/nowhere.sock") {
  const io = { ...fakeIo({ NODELET_SOCKET: socketPath }), now: () => Date.now() };
  const code = await runCommand(["events", ...argv], io, NO_INTERRUPT);
  await new Promise(setImmediate);
  return { code, out: io.out(), err: io.err() };
}

const reasonsOf = (json: string) =>
  (JSON.parse(json) as { items: readonly CoreEvent[] }).items.map(({ reason }) => reason);

test("a running agent: all, those of a pod, of the node, of a time, and as they come", async () => {
  await using world = await startWorld();
  const { socketPath } = world;
  await world.run("web", { kind: "sleep" });
  await world.untilPhase("web", "Running");
  const ofPod = reasonsOf((await run(["--for", "pod/web", "-o", "json"], socketPath)).out);
  assert.ok(ofPod.includes("Started"), `${ofPod}`);
  const ofNode = reasonsOf((await run(["--for", "node", "-o", "json"], socketPath)).out);
  assert.ok(ofNode.includes("Starting") && !ofNode.includes("Started"));
  const all = reasonsOf((await run(["--since", "1h", "-o", "json"], socketPath)).out);
  assert.equal(all.length, ofPod.length + ofNode.length);
  assert.match(
    (await run([], socketPath)).out,
    /^LAST SEEN +TYPE +REASON +OBJECT +MARKS +MESSAGE\n(.*\n)*\d+s +Normal +Started +pod\/web +- +Container started\n/,
  );

  const io = { ...fakeIo({ NODELET_SOCKET: socketPath }), now: () => Date.now() };
  const interrupt = new AbortController();
  const watching = runCommand(
    ["events", "--watch", "--for", "pod/later", "--since", "1h"],
    io,
    () => interrupt.signal,
  );
  await world.run("later", { kind: "sleep" });
  await world.until(() => / Started +pod\/later /.test(io.out()), "it is shown");
  interrupt.abort();
  assert.equal(await watching, 0);
  const lines = io.out().trimEnd().split("\n");
  assert.match(lines[0] ?? "", /^LAST SEEN/);
  assert.ok(lines.slice(1).every((line) => line.includes("pod/later")));
});

test("a watch ends with the agent", async () => {
  const world = await startWorld();
  const io = { ...fakeIo({ NODELET_SOCKET: world.socketPath }), now: () => Date.now() };
  const watching = runCommand(["events", "-w", "-o", "json"], io, NO_INTERRUPT);
  await world.until(() => io.out().includes('"Starting"'), "it is shown");
  await world[Symbol.asyncDispose]();
  assert.equal(await watching, 4);
});

test("no agent: the history on disk, with marks, and of static pods by the name of their file", async () => {
  const root = mkdtempSync(join(tmpdir(), "nodelet-history-"));
  try {
    await live(join(root, "nodelet", "events"));
    const { code, out, err } = await run(["--root-dir", root]);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /\(x30\) +Warning +Unhealthy +pod\/web-n1 +filtered=5 +refused\n/);
    assert.match(out, /Warning +FailedMount +pod\/db +combined +disk 11\n/);
    const ofWeb = await run(["--root-dir", root, "--for", "pod/web", "-o", "json"]);
    assert.deepEqual(reasonsOf(ofWeb.out), ["Unhealthy"]);
    const limited = await run(["--root-dir", root, "--limit", "2", "-o", "json"]);
    assert.equal(reasonsOf(limited.out).length, 2);
    const elsewhere = await run(["--root-dir", join(root, "none")]);
    assert.deepEqual([elsewhere.code, elsewhere.err], [0, "No events found.\n"]);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("no agent and no root folder given: an error names that", async () => {
  const { code, err } = await run(["--for", "pod/none-of-this-name"]);
  assert.equal(code, 0);
  assert.match(err, /^nodelet: the agent is not running; showing its history on disk\n/);
});

/** A run of the module that ends, with some of it filtered and some combined. */
async function live(folder: string): Promise<void> {
  const clock = createSystemClock();
  const scope = new TaskScope("test", { clock, log: silentLog });
  const { files } = connectHost({ clock, log: silentLog });
  const events = await startEvents(
    { nodeName: "n1", folder },
    {
      clock,
      scope,
      log: silentLog,
      state: new StateFiles({ files, clock, log: silentLog }),
      metrics: new MetricsRegistry(),
      random: createSystemRandom(),
    },
  );
  for (let i = 1; i <= 12; i += 1)
    events.ofPod(pod("db"), { type: "Warning", reason: "FailedMount", message: `disk ${i}` });
  for (let i = 0; i < 30; i += 1)
    events.ofPod(pod("web-n1"), { type: "Warning", reason: "Unhealthy", message: "refused" });
  await scope[Symbol.asyncDispose]();
}
