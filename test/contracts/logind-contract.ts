// What every logind has to do that a shutdown of the node relies on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NEVER_ABORTED } from "../../src/kit/within.ts";
import type { Logind, LogindSession } from "../../src/outside/systemd/logind.ts";

/** A logind, and the machine that it shuts down. */
export interface LogindUnderTest extends AsyncDisposable {
  readonly logind: Logind;
  /** Writes `InhibitDelayMaxSec` into a file that logind reads when it is reloaded. */
  configureDelay(seconds: number): Promise<void>;
  /** What `systemctl reboot` asks for; resolves when logind has accepted it. */
  reboot(): Promise<void>;
  /** The reboot that has begun comes to nothing. */
  cancel(): Promise<void>;
  /** Whether logind has let the machine go down. */
  isDown(): boolean;
  /** Lets time pass. */
  wait(ms: number): Promise<void>;
}

/** Long enough for a message from process to process, far below every delay here. */
const SOON_MS = 3_000;
const STEP_MS = 20;

/** Registers the tests of the contract. */
export function examineLogind(name: string, start: () => Promise<LogindUnderTest>): void {
  const examine = (
    what: string,
    use: (
      scene: LogindUnderTest & { readonly signals: boolean[] },
      session: LogindSession,
    ) => Promise<void>,
  ) =>
    test(`${name}: ${what}`, async () => {
      await using machine = await start();
      const signals: boolean[] = [];
      const session = await machine.logind.open((begins) => signals.push(begins), NEVER_ABORTED);
      try {
        await use(Object.assign(Object.create(machine) as LogindUnderTest, { signals }), session);
      } finally {
        await session.close();
      }
    });

  examine("the delay is five seconds until a file says otherwise", async (machine, session) => {
    assert.equal(await session.inhibitDelayMs(), 5_000);
    await machine.configureDelay(30);
    await session.reload();
    let delayMs = 0;
    await soon(machine, async () => {
      delayMs = await session.inhibitDelayMs();
      return delayMs === 30_000;
    });
    assert.equal(delayMs, 30_000);
  });

  examine(
    "a shutdown waits for the lock, and goes on when it is released",
    async (machine, session) => {
      const lock = await session.inhibit("tester", "to test", NEVER_ABORTED);
      assert.equal(await session.isPreparingForShutdown(), false);
      await machine.reboot();
      await soon(machine, () => machine.signals.length > 0);
      assert.deepEqual(machine.signals, [true]);
      assert.equal(await session.isPreparingForShutdown(), true);
      await machine.wait(500);
      assert.equal(machine.isDown(), false);
      lock.release();
      lock.release();
      await lock.gone;
      assert.equal(await soon(machine, machine.isDown), true);
    },
  );

  examine("a shutdown does not wait for longer than the delay", async (machine, session) => {
    await machine.configureDelay(1);
    await session.reload();
    await soon(machine, async () => (await session.inhibitDelayMs()) === 1_000);
    const lock = await session.inhibit("tester", "to test", NEVER_ABORTED);
    await machine.reboot();
    assert.equal(await soon(machine, machine.isDown), true);
    lock.release();
  });

  examine("without a lock the machine goes down, and announces it before", async (machine) => {
    await machine.reboot();
    assert.equal(await soon(machine, machine.isDown), true);
    assert.equal(await soon(machine, () => machine.signals[0] === true), true);
  });

  examine(
    "a shutdown that is cancelled is announced, and the next one waits again",
    async (machine, session) => {
      const first = await session.inhibit("tester", "to test", NEVER_ABORTED);
      await machine.reboot();
      await soon(machine, () => machine.signals.length === 1);
      first.release();
      await soon(machine, machine.isDown);
      await machine.cancel();
      await soon(machine, () => machine.signals.length === 2);
      assert.deepEqual(machine.signals, [true, false]);
      assert.equal(await session.isPreparingForShutdown(), false);
      const second = await session.inhibit("tester", "to test", NEVER_ABORTED);
      await machine.reboot();
      await soon(machine, () => machine.signals.length === 3);
      await machine.wait(500);
      assert.equal(machine.isDown(), false);
      second.release();
      assert.equal(await soon(machine, machine.isDown), true);
    },
  );
}

/** Whether it holds within a moment. */
async function soon(
  { wait }: Pick<LogindUnderTest, "wait">,
  test: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < SOON_MS; waitedMs += STEP_MS) {
    if (await test()) return true;
    await wait(STEP_MS);
  }
  return await test();
}
