// `npm start` on Debian 13, as a newcomer has it.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { assertServes, debian13, debian13Obstacle, ROOT, START_MS, scripts } from "./debian-13.ts";

test("npm start -- --demo makes Debian 13 a node with its own Node 20, and down leaves nothing", {
  skip: debian13Obstacle(),
}, async () => {
  await using node = await debian13();
  const before = await node.picture();
  assert.match(await node.box.run(["node", "--version"]), /^v20\./);
  // What npm runs for it.
  const command = `${scripts.start} --demo --detach --until-ready`;
  const started = await node.box.exec(["sh", "-c", command], { cwd: ROOT, timeoutMs: START_MS });
  assert.equal(started.code, 0, started.stdout + started.stderr);
  assert.match(started.stdout, /hello is ready: curl http:\/\/10\.85\.0\.\d+:8080\/$/m);
  await assertServes(node);
  rmSync(node.box.path("/etc/nodelet/manifests/limited.yaml"));
  assert.match(await node.run("down"), /hello-\S+: gone/);
  assert.deepEqual(await node.changesSince(before), []);
});
