import type { CoreEvent } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { Clock } from "../../kit/clock.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { OwnProcess } from "../../outside/serving.ts";
import type { Call } from "../call.ts";
import type { PodView, ServedNode } from "../served-node.ts";
import { readOverview } from "./overview.ts";
import { joinPodText, type PodText, podText, samePodText } from "./pod-texts.ts";

interface ChangesDeps {
  readonly clock: Clock;
  readonly process: OwnProcess;
}

/** Events that wait for a slow reader; older ones are counted and left out. */
const WAITING_EVENTS = 1_000;
/** Overviews are not made more often than this. */
const OVERVIEW_EVERY_MS = 250;
const ALIVE_EVERY_MS = 15_000;
/**
 * Pause between what is sent: a container that ends changes its pod several times within it, and one line covers all of
 * that. The first change after a pause is sent at once.
 */
const SEND_EVERY_MS = 100;

/** How lines are put on the wire. */
interface ChangeFraming {
  readonly contentType: string;
  readonly frame: (line: string) => string;
}

/** One JSON object a line. */
const JSON_LINES: ChangeFraming = {
  contentType: "application/x-ndjson",
  frame: (line) => `${line}\n`,
};

/** Server-sent events (html.spec.whatwg.org, 9.2), for browsers. */
export const EVENT_STREAM: ChangeFraming = {
  contentType: "text/event-stream",
  frame: (line) => `data: ${line}\n\n`,
};

/** `/nodelet/v1/changes`: everything as it is, then what becomes of it. */
export async function streamChanges(
  call: Call,
  node: ServedNode,
  deps: ChangesDeps,
  { contentType, frame }: ChangeFraming = JSON_LINES,
): Promise<void> {
  const headers = { "content-type": contentType, "cache-control": "no-store" };
  if (call.exchange.method === "HEAD") return call.exchange.reply(200, headers);
  const feed = new ChangeFeed(node, deps);
  const stream = call.exchange.replyStream(200, headers);
  try {
    await stream.write(feed.beginning().map(frame).join(""));
    for (;;) {
      await feed.wait(call.signal);
      const lines = feed.take();
      if (lines.length > 0) await stream.write(lines.map(frame).join(""));
    }
  } finally {
    feed.close();
  }
}

/** Gathers what changed until the reader is ready for more: of a pod only what it is by then. */
class ChangeFeed {
  readonly #node: ServedNode;
  readonly #deps: ChangesDeps;
  readonly #stops: readonly (() => void)[];
  readonly #pods = new Map<PodUid, PodView>();
  /** What the reader has of each pod. */
  readonly #sent = new Map<PodUid, PodText>();
  #events: CoreEvent[] = [];
  #missed = 0;
  #overviewDue = false;
  #overview = "";
  #overviewAt = Number.NEGATIVE_INFINITY;
  #sentAt = Number.NEGATIVE_INFINITY;
  readonly #wakeup = new Wakeup();

  constructor(node: ServedNode, deps: ChangesDeps) {
    this.#node = node;
    this.#deps = deps;
    const { pipeline, subsystems } = node;
    const touch = () => this.#touchOverview();
    this.#stops = [
      pipeline.pods.subscribe((record) => this.#onPod(record)),
      subsystems.events.watch((event) => this.#onEvent(event)),
      subsystems.runtime.watch.health.subscribe(touch),
      pipeline.sources.problems.subscribe(touch),
      subsystems.devices.plugins.problems.subscribe(touch),
      pipeline.seen.subscribe(touch),
    ];
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** Lines for everything as it is. */
  beginning(): readonly string[] {
    const { pipeline, subsystems } = this.#node;
    const pods = pipeline.pods.list().flatMap((record) => this.#podLines(record));
    const events = subsystems.events.list().map(eventLine);
    this.#pods.clear();
    this.#events = [];
    this.#sentAt = this.#deps.clock.monotonic();
    return [this.#overviewLine() ?? ALIVE, ...pods, ...events, SYNCED];
  }

  /** Resolves when there are changes to send, at the latest for a keep-alive. Rejects when `signal` is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    await this.#wakeup.wait({ clock, ms: this.#silentForMs() }, signal);
    signal.throwIfAborted();
    const pauseMs = this.#sentAt + SEND_EVERY_MS - clock.monotonic();
    if (pauseMs > 0) await clock.sleep(pauseMs, signal);
  }

  /** Lines for what changed since the last call; a keep-alive when nothing was sent for long. */
  take(): readonly string[] {
    const lines: string[] = [];
    for (const record of this.#pods.values()) appendAll(lines, this.#podLines(record));
    this.#pods.clear();
    if (this.#missed > 0) lines.push(JSON.stringify({ kind: "eventsMissed", count: this.#missed }));
    appendAll(lines, this.#events.map(eventLine));
    this.#events = [];
    this.#missed = 0;
    if (this.#overviewDue && this.#overviewLeftMs() <= 0) {
      const line = this.#overviewLine();
      if (line !== undefined) lines.push(line);
    }
    // What only lasted too long is no change that anything reports.
    if (lines.length === 0 && this.#silentLeftMs() <= 0) lines.push(this.#overviewLine() ?? ALIVE);
    if (lines.length > 0) this.#sentAt = this.#deps.clock.monotonic();
    return lines;
  }

  #silentForMs(): number {
    const silentMs = this.#silentLeftMs();
    return Math.max(0, this.#overviewDue ? Math.min(this.#overviewLeftMs(), silentMs) : silentMs);
  }

  #silentLeftMs(): number {
    return this.#sentAt + ALIVE_EVERY_MS - this.#deps.clock.monotonic();
  }

  #overviewLeftMs(): number {
    return this.#overviewAt + OVERVIEW_EVERY_MS - this.#deps.clock.monotonic();
  }

  #onPod(record: PodView): void {
    this.#pods.set(record.uid, record);
    this.#overviewDue = true;
    this.#wakeup.wake();
  }

  #onEvent(event: CoreEvent): void {
    this.#events.push(event);
    if (this.#events.length > WAITING_EVENTS) {
      this.#events.shift();
      this.#missed += 1;
    }
    this.#wakeup.wake();
  }

  #touchOverview(): void {
    this.#overviewDue = true;
    this.#wakeup.wake();
  }

  /** None where the reader would learn nothing. */
  #podLines(record: PodView): readonly string[] {
    const { uid, life, pod } = record;
    if (life.kind === "released") {
      this.#sent.delete(uid);
      const { name, namespace } = pod.metadata;
      return [JSON.stringify({ kind: "podGone", uid, namespace, name })];
    }
    const text = podText(record, this.#node, this.#deps.clock);
    if (samePodText(this.#sent.get(uid), text)) return [];
    this.#sent.set(uid, text);
    return [`{"kind":"pod","pod":${joinPodText(text)}}`];
  }

  /** The overview when something in it changed other than what the agent itself uses. */
  #overviewLine(): string | undefined {
    this.#overviewDue = false;
    this.#overviewAt = this.#deps.clock.monotonic();
    const overview = readOverview(this.#node, this.#deps.process);
    const { agent: _, ...lasting } = overview;
    const text = JSON.stringify(lasting);
    if (text === this.#overview) return undefined;
    this.#overview = text;
    return JSON.stringify({ kind: "overview", overview });
  }
}

const ALIVE = JSON.stringify({ kind: "alive" });
const SYNCED = JSON.stringify({ kind: "synced" });

function eventLine(event: CoreEvent): string {
  return JSON.stringify({ kind: "event", event });
}
