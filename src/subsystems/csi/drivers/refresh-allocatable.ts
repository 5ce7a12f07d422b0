import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import { Wakeup } from "../../../kit/loops/wakeup.ts";
import type { DriverRuleBook } from "../driver-rules.ts";
import type { RegisteredDrivers } from "./registered-drivers.ts";

interface RefreshDeps {
  readonly drivers: RegisteredDrivers;
  readonly rules: DriverRuleBook;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Asks drivers again how many volumes they can have here, as often as their objects say
 * (`nodeAllocatableUpdatePeriodSeconds`), until the signal is aborted.
 */
export async function refreshAllocatable(deps: RefreshDeps, signal: AbortSignal): Promise<void> {
  const { drivers, rules, clock, log } = deps;
  const due = new Map<string, number>();
  const asked = new Set<string>();
  const wakeup = new Wakeup();
  using stack = new DisposableStack();
  for (const changes of [drivers.changes, rules.changes])
    stack.defer(changes.subscribe(() => wakeup.wake()));
  while (!signal.aborted) {
    let next = Number.POSITIVE_INFINITY;
    for (const { name } of drivers.list()) {
      const ruling = await rules.of(name, signal).catch(() => undefined);
      signal.throwIfAborted();
      const periodMs = (ruling?.allocatableSeconds ?? 0) * 1000;
      const now = clock.monotonic();
      const at = due.get(name) ?? now + periodMs;
      if (periodMs === 0) due.delete(name);
      else {
        if (at <= now && !asked.has(name)) {
          asked.add(name);
          void drivers
            .refresh(name)
            .catch((error: unknown) =>
              log.warn("failed to ask a driver how many volumes it can have", {
                driver: name,
                error,
              }),
            )
            .finally(() => asked.delete(name));
        }
        due.set(name, at <= now ? now + periodMs : at);
        next = Math.min(next, due.get(name) ?? next);
      }
    }
    await wakeup.wait({ clock, ms: next - clock.monotonic() }, signal);
  }
}
