// The events module on virtual time, with files in memory and an API server that the test scripts.
import type { CoreEvent, Node, Pod } from "../../src/api/generated/types.ts";
import { Cell } from "../../src/kit/cell.ts";
import type { OutsideError } from "../../src/kit/errors.ts";
import type { RateLimit } from "../../src/kit/limits/token-bucket.ts";
import { type Log, silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { type EventPolicy, type Events, startEvents } from "../../src/subsystems/events/events.ts";
import { FakeFiles } from "../sim/fake-files.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { FakeEventApi } from "./fake-event-api.ts";

export const FOLDER = "/state/events";

export interface WorldOptions {
  readonly policy?: EventPolicy;
  readonly rate?: RateLimit;
  /** False: there is no API server. */
  readonly api?: boolean;
}

/** One run of the module after the other on the same disk. */
export class EventWorld {
  readonly clock = new SimClock();
  readonly api = new FakeEventApi();
  readonly files: FakeFiles;
  readonly log: string[] = [];
  /** The node's own object. */
  readonly node = new Cell<Node | undefined>(undefined);
  /** What the disk answers to an operation; nothing: it works. */
  fault: (operation: string, path: string) => OutsideError | undefined = () => undefined;
  readonly #options: WorldOptions;
  #scope: TaskScope | undefined;
  #events: Events | undefined;
  #metrics = new MetricsRegistry();

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.files = new FakeFiles({
      wall: () => this.clock.wall(),
      fault: (operation, path) => this.fault(operation, path),
    });
  }

  static async start(options: WorldOptions = {}): Promise<EventWorld> {
    const world = new EventWorld(options);
    await world.start();
    return world;
  }

  get events(): Events {
    if (!this.#events) throw new Error("the module is closed");
    return this.#events;
  }

  async start(): Promise<void> {
    const { policy, rate, api = true } = this.#options;
    const { clock, files } = this;
    const log = this.#log();
    this.#metrics = new MetricsRegistry();
    const scope = new TaskScope("events", { clock, log });
    this.#scope = scope;
    this.#events = await startEvents(
      {
        nodeName: "n1",
        folder: FOLDER,
        ...(policy ? { policy } : {}),
        rate: rate ?? { qps: 0, burst: 0 },
      },
      {
        clock,
        log,
        scope,
        node: this.node,
        state: new StateFiles({ files, clock, log }),
        metrics: this.#metrics,
        random: createSeededRandom(7),
        ...(api ? { api: this.api } : {}),
      },
    );
  }

  /** Closes the module, letting time pass as far as it needs. */
  async stop(): Promise<void> {
    let closed = false;
    const closing = this.#scope?.[Symbol.asyncDispose]().then(() => {
      closed = true;
    });
    for (let i = 0; i < 200 && !closed; i += 1) await this.clock.advance(100);
    if (!closed) throw new Error("the module does not close");
    await closing;
    this.#events = undefined;
  }

  /** `kill -9`: what the killed module still does reaches neither disk nor server. */
  async kill(): Promise<void> {
    const dead = new Error("killed");
    const fault = this.fault;
    const answer = this.api.answer;
    this.fault = () => dead as OutsideError;
    this.api.answer = () => {
      throw dead;
    };
    await this.stop();
    this.fault = fault;
    this.api.answer = answer;
  }

  metrics(): string {
    return this.#metrics.expose();
  }

  /** Reads a file of the module. */
  async text(name: string): Promise<string> {
    return (await this.files.readText(`${FOLDER}/${name}`, { maxBytes: 1e9 })) ?? "";
  }

  #log(): Log {
    const logAt = (level: string) => (message: string) => void this.log.push(`${level} ${message}`);
    return {
      ...silentLog,
      error: logAt("E"),
      warn: logAt("W"),
      info: logAt("I"),
      verbose: (level, message, fields) =>
        void this.log.push(`${level} ${message} ${fields?.["reason"] ?? ""}`),
      enabled: (level) => level <= 3,
      child: () => this.#log(),
    };
  }
}

export function pod(name = "web", containers: readonly string[] = ["main"]): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "ns", uid: `uid-${name}` },
    spec: { containers: containers.map((container) => ({ name: container })) },
  };
}

/** `reason xcount marks`, one for each event. */
export function shown(events: readonly CoreEvent[]): readonly string[] {
  return events.map(({ reason, count, metadata }) => {
    const marks = metadata.annotations?.["nodelet.dev/event-marks"];
    return `${reason} x${count}${marks === undefined ? "" : ` ${marks}`}`;
  });
}

/** Recorded events are all accounted for, each once. */
export function unaccounted({ counts, waiting }: Events): number {
  const { recorded, restored, sent, aggregated, kept, dropped } = counts.totals;
  return recorded + restored - sent - aggregated - kept - dropped - waiting;
}
