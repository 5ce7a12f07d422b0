/**
 * Deletes ResourceSlices of the node whose drivers are gone, so that the scheduler counts on their devices no more: all of them
 * as the agent starts, those of one driver once it could not be reached for a while. Drivers publish theirs again themselves.
 */
import { retryDelayMs } from "../../../kit/backoff.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { jitter, type Random } from "../../../kit/random.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { type KubeClient, NODES, RESOURCE_SLICES } from "../../../outside/kube/kube.ts";

interface SliceCleanupDeps {
  /** Absent where there is no API server: there are no slices. */
  readonly client: Pick<KubeClient, "get" | "deleteAll"> | undefined;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** How long drivers wait at most until the slices of the time before are deleted: without an API server they come all the same. */
const HOLD_MS = 10_000;
/** How long a driver may be away, as it is while it is updated. */
const AWAY_MS = 30_000;
const RETRY = { initialMs: 1_000, maxMs: 300_000 };
const RETRY_JITTER = 0.2;

/** The cleanup; see above. */
export class SliceCleanup {
  readonly #deps: SliceCleanupDeps;
  /** Drivers that are away, with what ends the wait for them or their cleanup. */
  readonly #away = new Map<string, () => void>();
  readonly #begun = Promise.withResolvers<void>();

  constructor(deps: SliceCleanupDeps) {
    this.#deps = deps;
    if (!deps.client) this.#begun.resolve();
    deps.scope.defer("resource slices", () => {
      this.#begun.resolve();
      for (const stop of this.#away.values()) stop();
    });
  }

  /** Deletes all slices of the node, in the background. */
  start(): void {
    const { client, clock, scope } = this.#deps;
    if (client) {
      const cancel = clock.alarm(HOLD_MS, () => this.#begun.resolve());
      void this.begun.then(cancel);
    }
    this.#clean(undefined, scope.signal);
  }

  /**
   * Resolves when the slices of the time before are deleted, or that has failed for a while: what a driver publishes earlier would
   * be deleted with them.
   */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** The driver can be reached or not. A second loss keeps the deadline of the first. */
  usable(driver: string, isUsable: boolean): void {
    if (isUsable) {
      this.#away.get(driver)?.();
      this.#away.delete(driver);
      return;
    }
    if (this.#away.has(driver) || !this.#deps.client) return;
    const ended = new AbortController();
    const cancel = this.#deps.clock.alarm(AWAY_MS, () => {
      this.#deps.log.warn("a DRA driver is gone, its ResourceSlices are deleted", { driver });
      this.#clean(driver, ended.signal);
    });
    this.#away.set(driver, () => {
      cancel();
      ended.abort(new Error(`DRA driver ${driver} is back`));
    });
  }

  #clean(driver: string | undefined, ended: AbortSignal): void {
    const { client, scope, clock, random, log } = this.#deps;
    if (!client) return;
    scope.spawn("resource slices", "restart", async (leave) => {
      for (let failures = 1; !ended.aborted && !leave.aborted; failures += 1) {
        try {
          await this.#delete(client, driver, leave);
          this.#begun.resolve();
          break;
        } catch (error) {
          if (leave.aborted) break;
          if (failures === 1) log.warn("failed to delete ResourceSlices", { driver, error });
          const pauseMs = jitter(random, retryDelayMs(failures, RETRY), RETRY_JITTER);
          await clock.sleep(pauseMs, ended).catch(() => {});
        }
      }
      if (driver !== undefined && !ended.aborted) this.#away.delete(driver);
    });
  }

  /** First the node's object: without it, what it may delete cannot be judged. */
  async #delete(
    client: NonNullable<SliceCleanupDeps["client"]>,
    driver: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { nodeName } = this.#deps;
    await client.get(NODES, { name: nodeName }, signal);
    const ofDriver = driver === undefined ? "" : `,spec.driver=${driver}`;
    const fieldSelector = `spec.nodeName=${nodeName}${ofDriver}`;
    try {
      await client.deleteAll(RESOURCE_SLICES, { fieldSelector }, signal);
    } catch (error) {
      if (!isOutside(error, "notFound")) throw error;
    }
  }
}
