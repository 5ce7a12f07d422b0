import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { findProgram } from "../../../test/box/prerequisites.ts";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { isOutside } from "../../kit/errors.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { runProgram } from "../host/run-program.ts";
import { connectServiceNotifier } from "./service-notifier.ts";

for (const [what, env, expected] of [
  ["no service", {}, undefined],
  ["an empty socket", { NOTIFY_SOCKET: "" }, undefined],
  ["no watchdog", { NOTIFY_SOCKET: "/s" }, "none"],
  ["a watchdog", { NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "60000000" }, 60_000],
  ["for this process", { NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "5000", WATCHDOG_PID: "42" }, 5],
  ["for another one", { NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "5000", WATCHDOG_PID: "7" }, "none"],
  ["not a number", { NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "soon" }, "none"],
  ["zero", { NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "0" }, "none"],
] as const)
  test(`connectServiceNotifier: ${what}`, () => {
    const notifier = connectServiceNotifier({ env, pid: 42, runProgram });
    assert.equal(notifier && (notifier.watchdogMs ?? "none"), expected);
  });

/** Prints each datagram that comes, its lines joined by a bar. */
const LISTENER = `use Socket; $| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die;
bind($s, pack_sockaddr_un($ARGV[0])) or die; print "listening\\n";
my $text; while (defined recv($s, $text, 65536, 0)) { $text =~ s/\\n/|/g; print "$text\\n"; }`;

const obstacle =
  findProgram("systemd-notify") === undefined && "needs systemd-notify (package systemd)";

test("connectServiceNotifier: what is sent arrives at the socket", { skip: obstacle }, () =>
  withTemporaryFolder(async (folder) => {
    const socket = join(folder, "notify");
    const listener = spawn("perl", ["-e", LISTENER, socket], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: listener.stdout });
    const received: string[] = [];
    const next = async () => {
      const [line] = (await once(lines, "line")) as [string];
      received.push(line);
    };
    try {
      await next();
      const notifier = connectServiceNotifier({
        env: { NOTIFY_SOCKET: socket },
        pid: process.pid,
        runProgram: (program, signal) =>
          runProgram({ ...program, env: { NOTIFY_SOCKET: socket } }, signal),
      });
      const arrived = next();
      await notifier?.notify(["READY=1", "STATUS=3 pods\nMAINPID=1"], NEVER_ABORTED);
      await arrived;
      assert.deepEqual(received, ["listening", "READY=1|STATUS=3 pods MAINPID=1"]);
    } finally {
      lines.close();
      listener.kill("SIGKILL");
    }
  }),
);

test("connectServiceNotifier: a program that is missing or fails is an error that says so", async () => {
  const env = { NOTIFY_SOCKET: "/nowhere/socket" };
  const missing = connectServiceNotifier({
    env,
    pid: 1,
    runProgram: (program, signal) => runProgram({ ...program, path: "/nowhere/notify" }, signal),
  });
  await assert.rejects(missing?.notify(["READY=1"], NEVER_ABORTED) ?? Promise.resolve(), (thrown) =>
    isOutside(thrown, "notFound"),
  );
  const failing = connectServiceNotifier({
    env,
    pid: 1,
    runProgram: (program, signal) => runProgram({ ...program, path: "false" }, signal),
  });
  await assert.rejects(
    failing?.notify(["READY=1"], NEVER_ABORTED) ?? Promise.resolve(),
    /notify the service manager at \/nowhere\/socket: it ended with code 1/,
  );
});
