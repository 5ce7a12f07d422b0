/** Follows what drivers report of the health of their devices; each instance of a driver counts for itself. */
import { until } from "../../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import { messageOf } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { isUnimplemented } from "../../../outside/grpc/grpc.ts";
import type { DriverConnection } from "../drivers/driver-connection.ts";
import {
  type DeviceHealth,
  firstTimeout,
  forgetStale,
  healthOf,
  NO_HEALTH,
  type ShownHealth,
  takeReport,
} from "./device-health.ts";

interface HealthWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  /** Devices of the driver, by `deviceKey`, whose health is another one now. */
  readonly onChanged: (driver: string, devices: readonly string[]) => void;
}

/** Before a stream that has ended is asked for again. */
const RETRY_MS = 5_000;

/** The watch; see above. */
export class HealthWatch {
  readonly #deps: HealthWatchDeps;
  readonly #health = new Map<DriverConnection, DeviceHealth>();
  readonly #expiries = new Map<DriverConnection, () => void>();

  constructor(deps: HealthWatchDeps) {
    this.#deps = deps;
  }

  /** Follows an instance of a driver until it is deregistered, where it reports health at all. */
  follow(connection: DriverConnection): void {
    const { driver, services } = connection.target;
    const { health } = services;
    if (health === undefined) return;
    this.#deps.scope.spawn("health of devices", "restart", async () => {
      while (!connection.closed.aborted) {
        try {
          await until(connection.link, (link) => link === "ready", connection.closed);
          for await (const report of connection.watchHealth(health)) {
            const now = this.#deps.clock.monotonic();
            this.#become(connection, takeReport(this.#of(connection), report, now));
          }
        } catch (error) {
          if (isUnimplemented(error)) {
            this.#deps.log.warn("a DRA driver names a service that it does not have", {
              driver,
              service: health,
              error: messageOf(error),
            });
            break;
          }
        }
        this.#forget(connection);
        await this.#deps.clock.sleep(RETRY_MS, connection.closed).catch(() => {});
      }
      this.#forget(connection);
    });
  }

  /** The health of a device, by the instance that reported it last. */
  of(driver: string, key: string): ShownHealth {
    const now = this.#deps.clock.monotonic();
    const reports = [...this.#health].filter(
      ([{ target }, health]) => target.driver === driver && health.has(key),
    );
    const latest = reports.toSorted(([, a], [, b]) => timeOf(a, key) - timeOf(b, key)).at(-1);
    return healthOf(latest?.[1] ?? NO_HEALTH, key, now);
  }

  #of(connection: DriverConnection): DeviceHealth {
    return this.#health.get(connection) ?? NO_HEALTH;
  }

  #forget(connection: DriverConnection): void {
    this.#become(connection, { health: NO_HEALTH, changed: [...this.#of(connection).keys()] });
    this.#health.delete(connection);
  }

  #become(
    connection: DriverConnection,
    { health, changed }: { readonly health: DeviceHealth; readonly changed: readonly string[] },
  ): void {
    this.#health.set(connection, health);
    this.#watchExpiry(connection);
    if (changed.length > 0) this.#deps.onChanged(connection.target.driver, changed);
  }

  /** A driver that falls silent is noticed as well. */
  #watchExpiry(connection: DriverConnection): void {
    this.#expiries.get(connection)?.();
    this.#expiries.delete(connection);
    const at = firstTimeout(this.#of(connection));
    if (at === undefined) return;
    const { clock } = this.#deps;
    const over = (at + 1) as MonotonicMs;
    const cancel = clock.alarm(Math.max(0, over - clock.monotonic()), () => {
      // At its time it is over, even if the clock wakes us a little early.
      const now = Math.max(over, clock.monotonic()) as MonotonicMs;
      this.#become(connection, forgetStale(this.#of(connection), now));
    });
    this.#expiries.set(connection, cancel);
  }
}

const timeOf = (health: DeviceHealth, key: string): number => health.get(key)?.at ?? 0;
