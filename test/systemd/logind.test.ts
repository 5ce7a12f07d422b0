import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "dbus-native";
import { isOutside } from "../../src/kit/errors.ts";
import { NEVER_ABORTED } from "../../src/kit/within.ts";
import { connectLogind } from "../../src/outside/systemd/connect-logind.ts";
import { examineLogind } from "../contracts/logind-contract.ts";
import { FakeFiles } from "../sim/fake-files.ts";
import { FakeLogind } from "../sim/fake-logind.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { logindObstacle, startLogind } from "./machine-logind.ts";

describe("logind of the machine", { skip: logindObstacle() }, () => {
  examineLogind("systemd-logind", startLogind);

  test("a lock that is lost with its process is gone, and a lost bus ends the session", async () => {
    await using machine = await startLogind();
    const session = await machine.logind.open(() => {}, NEVER_ABORTED);
    const giveUp = new AbortController();
    const lock = await session.inhibit("tester", "to test", giveUp.signal);
    giveUp.abort(new Error("no more"));
    lock.release();
    await lock.gone;
    await session.close();
    await session.closed;
    await assert.rejects(session.inhibitDelayMs(), (thrown) => isOutside(thrown));
  });

  // As Kubernetes' node suite does it.
  test("a shutdown that another client of the bus announces counts, also when that client is gone", async () => {
    await using machine = await startLogind();
    const signals: boolean[] = [];
    const session = await machine.logind.open((begins) => signals.push(begins), NEVER_ABORTED);
    for (const begins of [true, false]) {
      const other = createClient({ busAddress: machine.address });
      // Waits until it is connected.
      await other.addMatch("type='signal',member='None'");
      const [path, of] = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"];
      other.sendSignal(path, of, "PrepareForShutdown", "b", [begins]);
      await other.close();
    }
    while (signals.length < 2) await machine.wait(5);
    assert.deepEqual(signals, [true, false]);
    await session.close();
  });
});

examineLogind("simulated logind", async () => {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  const logind = new FakeLogind(clock, files);
  const folder = "/etc/systemd/logind.conf.d";
  await files.makeDirectory(folder, 0o755);
  return {
    logind,
    configureDelay: (seconds) =>
      files.writeAtomic(
        `${folder}/99-kubelet.conf`,
        `[Login]\nInhibitDelayMaxSec=${seconds}\n`,
        0o644,
      ),
    reboot: async () => logind.shutDown(),
    cancel: async () => logind.cancel(),
    isDown: () => logind.wentDownAt !== undefined,
    wait: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: async () => {},
  };
});

test("connectLogind: without a bus it says which paths it tried", async () => {
  const logind = connectLogind({ address: "unix:path=/nowhere/bus" });
  await assert.rejects(
    logind.open(() => {}, NEVER_ABORTED),
    (thrown: unknown) => {
      assert.ok(isOutside(thrown));
      assert.match(thrown.message, /connect to logind at unix:path=\/nowhere\/bus/);
      return true;
    },
  );
});
