// The events module with a real API server behind it, on virtual time or on the machine's.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CoreEvent, CoreEventList } from "../../src/api/generated/types.ts";
import { type Clock, createSystemClock } from "../../src/kit/clock.ts";
import type { RateLimit } from "../../src/kit/limits/token-bucket.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { type ApiTransport, KubeClient } from "../../src/outside/kube/kube.ts";
import {
  type EventPolicy,
  type Events,
  kubeEventApi,
  startEvents,
} from "../../src/subsystems/events/events.ts";
import { unaccounted } from "../events/world.ts";
import { SimClock } from "../sim/sim-clock.ts";
import type { ApiServer } from "./apiserver.ts";
import { connectAs } from "./connect-as.ts";

export const NODE = "n1";
const TIMEOUT_MS = 60_000;

export interface EventModuleOptions {
  readonly policy?: EventPolicy;
  readonly rate?: RateLimit;
  /** Default: virtual time, which `pass` moves. */
  readonly clock?: Clock;
}

/** One run of the module after the other on the same disk, speaking as the node. */
export class EventModule implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "nodelet-event-module-"));
  readonly #options: EventModuleOptions;
  readonly #clock: Clock;
  readonly #transport: ApiTransport;
  #scope: TaskScope | undefined;
  #events: Events | undefined;

  private constructor(transport: ApiTransport, options: EventModuleOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#clock = options.clock ?? new SimClock();
  }

  static async start(server: ApiServer, options: EventModuleOptions = {}): Promise<EventModule> {
    const user = { name: `system:node:${NODE}`, groups: ["system:nodes"] };
    const transport = connectAs(server, await server.authority.client(user));
    const eventModule = new EventModule(transport, options);
    await eventModule.start();
    return eventModule;
  }

  get events(): Events {
    if (!this.#events) throw new Error("the module is closed");
    return this.#events;
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const systemClock = createSystemClock();
    const scope = new TaskScope("events", { clock, log: silentLog });
    const client = new KubeClient(
      {},
      { transport: this.#transport, clock: systemClock, log: silentLog },
    );
    this.#scope = scope;
    const { policy, rate = { qps: 0, burst: 0 } } = this.#options;
    const { files } = connectHost({ clock: systemClock, log: silentLog });
    this.#events = await startEvents(
      { nodeName: NODE, folder: join(this.folder, "events"), rate, ...(policy ? { policy } : {}) },
      {
        clock,
        scope,
        log: silentLog,
        state: new StateFiles({ files, clock, log: silentLog }),
        metrics: new MetricsRegistry(),
        random: createSystemRandom(),
        api: kubeEventApi(client),
      },
    );
  }

  /** Lets virtual time pass once everything that was reported is settled. */
  async pass(ms: number): Promise<void> {
    await this.settled();
    if (this.#clock instanceof SimClock) await this.#clock.advance(ms);
  }

  /** Waits until nothing is on its way to the server. */
  async settled(): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS;
    while (this.events.waiting > 0 || unaccounted(this.events) > 0) {
      if (performance.now() > deadline) throw new Error(`${this.events.waiting} events still wait`);
      if (this.#clock instanceof SimClock) await this.#clock.advance(1);
      await sleep(2);
    }
  }

  async stop(): Promise<void> {
    const closing = this.#scope?.[Symbol.asyncDispose]();
    let closed = false;
    const end = () => {
      closed = true;
    };
    closing?.then(end, end);
    while (this.#clock instanceof SimClock && !closed) {
      await this.#clock.advance(10);
      await sleep(1);
    }
    await closing;
    this.#events = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#events) await this.stop();
    this.#transport.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Events of a namespace as the server has them, in the order they were made. */
export async function storedEvents(
  server: ApiServer,
  namespace: string,
): Promise<readonly CoreEvent[]> {
  const path = `/api/v1/namespaces/${namespace}/events`;
  const { items } = await server.must<CoreEventList>("GET", path);
  return items.toSorted((a, b) => madeAt(a) - madeAt(b));
}

/** Names are made of the time at which an event was first recorded, in hex nanoseconds. */
function madeAt({ metadata: { name = "" } }: CoreEvent): number {
  return Number.parseInt(name.slice(name.lastIndexOf(".") + 1), 16);
}
