// A series of kills under writes: after each start everything that was acknowledged must be there.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import { CONFIG_MAPS, isApiError, KubeClient } from "../../src/outside/kube/kube.ts";
import { accessIn } from "./local-api.ts";

const WRITERS = 4;
const OBJECTS_OF_EACH = 5;
const MAX_WRITES_OF_ROUND = 40;
/** Before the kill, so that it meets writes in all their steps. */
const MAX_PAUSE_MS = 10;
const NAMESPACE = "default";
const ANSWERS_WITHIN_MS = 60_000;
const POLL_MS = 20;

/** What is killed. */
export interface CrashSubject {
  /** The kubeconfig of an administrator; may be written by `start`. */
  readonly kubeconfig: string;
  /** Starts it; the API need not answer yet when this resolves. */
  start(): Promise<void>;
  /** SIGKILL for all of it; resolves when it is gone. Round counts from 0. */
  kill(round: number): Promise<void>;
  /** Throws when what was started has ended. */
  assertRunning(): void;
}

/** What a series has seen; it throws at the first write that is lost. */
export interface CrashFigures {
  readonly kills: number;
  readonly acknowledgedWrites: number;
  /** How often an acknowledged value was read after a start, and found. */
  readonly valuesChecked: number;
  /** Writes that had no answer at the kill, and were there nevertheless: allowed, and a sign that kills hit writes. */
  readonly writtenUnanswered: number;
  readonly lastVersion: number;
  /** From the start until the API answered, the middle one and the longest. */
  readonly startMs: { readonly median: number; readonly longest: number };
}

/** What of an object was acknowledged, and what was asked for and not answered. */
interface Expected {
  acknowledged: string | undefined;
  open: string | undefined;
}

class Series {
  readonly expected = new Map<string, Expected>();
  readonly startMs: number[] = [];
  acknowledged = 0;
  checked = 0;
  unanswered = 0;
  version = 0;

  /** Compares what the API has with what it reported it has. */
  async check(client: KubeClient, round: number, signal: AbortSignal): Promise<void> {
    const list = await client.list(CONFIG_MAPS, { namespace: NAMESPACE }, signal);
    const found = new Map(
      list.items.map(({ metadata, data }) => [metadata?.name ?? "", data?.["n"]]),
    );
    for (const [name, state] of this.expected) {
      const value = found.get(name);
      const { acknowledged, open } = state;
      assert.ok(
        value === acknowledged || (open !== undefined && value === open),
        `round ${round}: ${name} is ${value}, acknowledged ${acknowledged}, open ${open}`,
      );
      if (value !== acknowledged) this.unanswered += 1;
      this.checked += 1;
      state.acknowledged = value;
      state.open = undefined;
    }
    const now = Number(list.metadata.resourceVersion);
    assert.ok(now >= this.version, `versions went back from ${this.version} to ${now}`);
    this.version = now;
  }

  /** One writer: writes until the API is gone. */
  async write(client: KubeClient, what: string, signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n += 1) {
      const [round, writer] = what.split("/");
      const name = `object-${writer}-${n % OBJECTS_OF_EACH}`;
      const state = this.expected.get(name) ?? { acknowledged: undefined, open: undefined };
      this.expected.set(name, state);
      const value = `${round}-${n}`;
      state.open = value;
      try {
        const object = { metadata: { name }, data: { n: value } };
        const made =
          state.acknowledged === undefined
            ? await client.create(CONFIG_MAPS, { namespace: NAMESPACE }, object, signal)
            : await client.update(CONFIG_MAPS, { namespace: NAMESPACE, name }, object, signal);
        this.version = Math.max(this.version, Number(made.metadata?.resourceVersion));
        state.acknowledged = value;
        state.open = undefined;
        this.acknowledged += 1;
      } catch (error) {
        if (isApiError(error)) throw error;
        return;
      }
    }
  }

  figures(kills: number): CrashFigures {
    const sorted = [...this.startMs].sort((a, b) => a - b).map(Math.round);
    return {
      kills,
      acknowledgedWrites: this.acknowledged,
      valuesChecked: this.checked,
      writtenUnanswered: this.unanswered,
      lastVersion: this.version,
      startMs: { median: sorted[sorted.length >> 1] ?? 0, longest: sorted.at(-1) ?? 0 },
    };
  }
}

/** Starts, checks, writes and kills, so many times; starts and checks once more at the end, and leaves it running. */
export async function runCrashSeries(rounds: number, subject: CrashSubject): Promise<CrashFigures> {
  const series = new Series();
  for (let round = 0; round <= rounds; round += 1) {
    const began = performance.now();
    await subject.start();
    const { client, transport } = await answering(subject);
    series.startMs.push(performance.now() - began);
    const leave = new AbortController();
    await series.check(client, round, leave.signal);
    if (round < rounds) {
      const writing = Array.from({ length: WRITERS }, (_, writer) =>
        series.write(client, `${round}/${writer}`, leave.signal),
      );
      const enough = series.acknowledged + 1 + Math.floor(Math.random() * MAX_WRITES_OF_ROUND);
      while (series.acknowledged < enough) {
        subject.assertRunning();
        await sleep(1);
      }
      // Not right behind an answer, where the next write has hardly begun.
      await sleep(Math.random() * MAX_PAUSE_MS);
      await subject.kill(round);
      leave.abort(new Error("killed"));
      await Promise.all(writing);
    }
    transport.close();
  }
  const figures = series.figures(rounds);
  assert.ok(figures.acknowledgedWrites > rounds * 5, "too few writes: nothing was in flight");
  return figures;
}

type Connection = ReturnType<typeof connectTo>;

/** A connection to an API that has just been started; its address may have changed. */
async function answering(subject: CrashSubject): Promise<Connection> {
  const deadline = performance.now() + ANSWERS_WITHIN_MS;
  for (;;) {
    let connection: Connection | undefined;
    try {
      connection = connectTo(subject.kubeconfig);
      const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
      await connection.client.list(CONFIG_MAPS, { namespace: NAMESPACE }, signal);
      return connection;
    } catch (error) {
      connection?.transport.close();
      subject.assertRunning();
      if (performance.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

function connectTo(kubeconfig: string) {
  const { server, caPem, identity } = accessIn(kubeconfig);
  const clock = createSystemClock();
  const kube = connectKube({
    clock,
    random: createSystemRandom(),
    log: silentLog,
    userAgent: "nodelet-test",
  });
  const transport = kube.connect({
    server,
    authoritiesPem: caPem,
    credentials: { identity: new Cell(identity) },
  });
  return { transport, client: new KubeClient({}, { transport, clock, log: silentLog }) };
}
