// What strangers may do to an agent on real containerd: nothing that others notice.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServedNode } from "./node.ts";

let node: ServedNode;
before(async () => {
  node = await ServedNode.start();
});
after(() => node[Symbol.asyncDispose]());

/** TCP ports that something listens on in the box. */
async function listening(): Promise<readonly number[]> {
  const shown = await node.box.run([
    "sh",
    "-c",
    "cat /proc/net/tcp /proc/net/tcp6 | awk '$4==\"0A\" {print $2}'",
  ]);
  return shown
    .trim()
    .split("\n")
    .map((line) => Number.parseInt(line.split(":")[1] ?? "", 16));
}

test("SIGUSR1 neither opens the inspector nor ends the agent", async () => {
  const [pid = ""] = (await node.box.run(["pgrep", "-x", "nodelet"])).trim().split("\n");
  const before = await listening();
  for (let i = 0; i < 3; i += 1) await node.box.run(["kill", "-USR1", pid]);
  // Answered after the signals came: each is taken in the turn of the event loop that follows it.
  for (let i = 0; i < 20; i += 1) assert.equal((await node.local("/healthz")).status, 200);
  const ports = await listening();
  assert.deepEqual([...ports].sort(), [...before].sort());
  assert.ok(ports.includes(10250) && !ports.includes(9229), `${ports}`);
  assert.equal((await node.box.run(["pgrep", "-x", "nodelet"])).trim(), pid);
});
