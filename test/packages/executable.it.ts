// The single executable of `npm run package`, as users have it: one file, and nothing of the checkout.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { bareMachine } from "../cli/node-box.ts";

const ROOT = join(import.meta.dirname, "../..");
const TIME = "1700000000";
const base = mkdtempSync(join(tmpdir(), "executable-"));
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
};

function build(folder: string): string {
  execFileSync(
    process.execPath,
    [join(ROOT, "tools/package/package.mjs"), "--out", folder, "executable"],
    { env: { ...process.env, SOURCE_DATE_EPOCH: TIME }, stdio: ["ignore", "ignore", "inherit"] },
  );
  return join(folder, `nodelet-${version}-linux-${process.arch}`);
}

let executable: string;
before(() => {
  executable = build(join(base, "out"));
});
after(() => rmSync(base, { recursive: true, force: true }));

test("two builds of one commit are the same bytes", () => {
  const again = build(join(base, "again"));
  assert.ok(readFileSync(again).equals(readFileSync(executable)));
});

test("the single executable makes a bare machine a node, with file workers of its own", async () => {
  await using node = await bareMachine({}, executable);
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running/m);
  assert.match(await node.run("logs", "hello"), /^serving \/www on port 8080$/m);
  const processes = await node.box.run(["ps", "-eo", "args"]);
  assert.match(processes, /__file-worker/);
  assert.match(await node.run("down", "--yes"), /Done: nothing of nodelet is running or left\./);
});
