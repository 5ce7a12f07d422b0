import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { InhibitorLock, Logind, LogindSession } from "../../src/outside/systemd/logind.ts";
import type { FakeFiles } from "./fake-files.ts";

const CONFIG = "/etc/systemd/logind.conf.d/99-kubelet.conf";
const DEFAULT_DELAY_MS = 5_000;

interface Session {
  readonly onShutdown: (begins: boolean) => void;
  readonly close: () => void;
}

/** logind in memory: delay locks, their longest time, and a machine that goes down when all are released. */
export class FakeLogind implements Logind {
  /** As logind.conf has it; files of `logind.conf.d` are read with `reload`. */
  delayMs = DEFAULT_DELAY_MS;
  /** A file that sets the delay is ignored, as where an administrator's file comes after it. */
  ignoresFiles = false;
  /** Nobody answers on the bus. */
  isAway = false;
  /** When the machine went down, monotonic; `undefined` while it is up. */
  wentDownAt: number | undefined;
  /** Whether locks were not released before their time was over. */
  wasForced = false;
  readonly locks = new Set<InhibitorLock & { readonly who: string }>();
  readonly #sessions = new Set<Session>();
  readonly #clock: Clock;
  readonly #files: FakeFiles;
  #preparing = false;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock, files: FakeFiles) {
    this.#clock = clock;
    this.#files = files;
  }

  async open(onShutdown: (begins: boolean) => void): Promise<LogindSession> {
    if (this.isAway) throw new OutsideError("unavailable", "connect to logind: ECONNREFUSED");
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const session: Session = { onShutdown, close: resolve };
    this.#sessions.add(session);
    return {
      closed,
      inhibitDelayMs: async () => this.delayMs,
      isPreparingForShutdown: async () => this.#preparing,
      reload: async () => this.#reload(),
      inhibit: async (who) => this.#inhibit(who),
      close: async () => {
        this.#sessions.delete(session);
        resolve();
      },
    };
  }

  /** `systemctl poweroff`: notifies everybody, then waits for locks, no longer than the delay. */
  shutDown(): void {
    this.#preparing = true;
    this.#cancelTimer = this.#clock.alarm(this.delayMs, () => {
      this.wasForced = true;
      this.#goDown();
    });
    for (const { onShutdown } of [...this.#sessions]) onShutdown(true);
    if (this.locks.size === 0) this.#goDown();
  }

  /** The shutdown is called off before the machine went down. */
  cancel(): void {
    this.#cancelTimer();
    this.#preparing = false;
    this.wentDownAt = undefined;
    for (const { onShutdown } of [...this.#sessions]) onShutdown(false);
  }

  /** The machine is up again: nobody holds a lock, nobody is connected. */
  boot(): void {
    this.#preparing = false;
    this.wentDownAt = undefined;
    this.wasForced = false;
    this.locks.clear();
    this.loseConnections();
  }

  /** The bus ends every connection; locks are held on. */
  loseConnections(): void {
    for (const { close } of this.#sessions) close();
    this.#sessions.clear();
  }

  async #reload(): Promise<void> {
    const text = await this.#files.readText(CONFIG, { maxBytes: 4096 });
    const seconds = /^InhibitDelayMaxSec=(\d+)$/m.exec(text ?? "")?.[1];
    if (seconds !== undefined && !this.ignoresFiles) this.delayMs = Number(seconds) * 1000;
  }

  #inhibit(who: string): InhibitorLock {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const lock = {
      who,
      gone,
      release: () => {
        this.locks.delete(lock);
        resolve();
        if (this.#preparing && this.locks.size === 0) this.#goDown();
      },
    };
    this.locks.add(lock);
    return lock;
  }

  #goDown(): void {
    this.#cancelTimer();
    this.wentDownAt ??= this.#clock.monotonic();
  }
}
