// What a newcomer meets: a package lock that is held, a command that is not on the PATH, a start that fails.
import assert from "node:assert/strict";
import { readFileSync, readlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { bareMachine, Running } from "./node-box.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Holds the lock of dpkg as its frontends do (fcntl(2)) until it is ended, and says so. */
const HOLD_LOCK = `use Fcntl; $| = 1; open(F, ">>", "/var/lib/dpkg/lock-frontend") or die;
  fcntl(F, F_SETLK, pack("s s x4 q q l x4", F_WRLCK, SEEK_SET, 0, 0, 0)) or die "$!";
  print "held\\n"; sleep;`;

/** What README proposes for another terminal, without what needs an answer, never ends, or names no file. */
function commandsOfReadme(): readonly string[] {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  const [, block = ""] = /From another terminal:\n\n```sh\n(.*?)```/s.exec(text) ?? [];
  return block
    .split(/\n| {2,}/)
    .map((command) => command.replace(/^sudo /, "").replace("logs -f", "logs"))
    .filter((command) => command !== "" && !/\b[A-Z]{4,}\b|pods\.yaml|-it |down$/.test(command));
}

test("setup waits for a package lock held by another process, and reports it", async () => {
  await using node = await bareMachine();
  const holder = node.box.spawn(["perl", "-e", HOLD_LOCK]);
  await new Promise((held) => holder.stdout?.once("data", held));
  const script = `const { install } = await import(${JSON.stringify(join(ROOT, "tools/setup/packages-step.mjs"))});
    await install(["mount"], { lockSeconds: 60 });`;
  const setup = new Running(
    node.box.spawn([process.execPath, "--input-type=module", "-e", script]),
  );
  await setup.reported(/setup: waiting for the package lock, held by process \d+ \(perl\)/);
  await holder.kill();
  await setup.reported(/installing Debian packages: mount: done/);
  assert.equal((await setup.process.exited).code, 0, setup.text);
});

test("up links nodelet into the PATH, what it prints can be typed, and its check is well beside its agent", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.equal(readlinkSync(node.box.path("/usr/local/bin/nodelet")), join(ROOT, "bin/nodelet"));
  const printed = [
    ...up.stdout.matchAll(/^.*?(nodelet (?:why|exec|logs) [^#]*?)(?: {2,}.*)?$/gm),
  ].map(([, command = ""]) => command.replace("logs -f", "logs"));
  assert.equal(printed.length, 4, up.stdout);
  for (const command of printed) await node.box.run(["sh", "-c", command]);
  assert.match(up.stdout, /nodelet images pull IMAGE, nodelet images load -i FILE/);

  const documented = commandsOfReadme();
  assert.ok(documented.length >= 10, documented.join("\n"));
  for (const command of documented) await node.box.run(["sh", "-c", command]);

  const check = await node.box.exec(["nodelet", "up", "--check"]);
  assert.equal(check.code, 0, check.stdout);
  assert.match(check.stdout, /^ok +ports +in use by this node$/m);
  assert.match(check.stdout, /^ok +other agents +none beside this node's own \(process \d+\)$/m);
  await node.run("down");
  assert.deepEqual(await node.changesSince(before), []);
});

test("a program of the same name stays, and commands are printed with their path", async () => {
  await using node = await bareMachine();
  await node.box.run([
    "sh",
    "-c",
    "echo '#!/bin/sh' >/usr/local/bin/nodelet; chmod +x /usr/local/bin/nodelet",
  ]);
  const up = await node.nodelet(["up", "--detach"]);
  assert.equal(up.code, 0, up.stderr);
  assert.match(up.stderr, /\/usr\/local\/bin\/nodelet is another program and was kept/);
  assert.ok(up.stdout.includes(`  ${ROOT}/bin/nodelet get pods `), up.stdout);
  await node.run("down");
  assert.equal(readFileSync(node.box.path("/usr/local/bin/nodelet"), "utf8"), "#!/bin/sh\n");
});

test("after a failed start only lines of that start are shown", async () => {
  await using node = await bareMachine();
  await node.run("up", "--detach", "--until-ready");
  await node.run("down");
  await node.box.run([
    "sh",
    "-c",
    "mkdir -p /var/log/nodelet && echo 'of an earlier start' >>/var/log/nodelet/agent.log",
  ]);
  const failed = await node.nodelet(["up", "--detach", "--", "--max-pods=-5"]);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /failed to start the agent\n(.*\n)*.*max-?pods/i);
  assert.doesNotMatch(failed.stderr, /earlier start/);
});
