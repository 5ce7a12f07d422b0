import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { HistoryEntry, StoredObject } from "./fake-api-objects.ts";

export interface FakeWatchOptions {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly matches: (object: StoredObject) => boolean;
  readonly timeoutMs: number;
  /** Time until the next event is seen. */
  readonly delayMs: () => number;
  /** Whether an event comes twice. */
  readonly repeats: () => boolean;
  readonly version: () => number;
}

const BOOKMARK_PERIOD_MS = 60_000;

/** One watch of the simulated API server. Events come in order, each a little late. */
export class FakeWatch {
  readonly #options: FakeWatchOptions;
  readonly #clock: Clock;
  #queue: string[] = [];
  #wake: (() => void) | undefined;
  #over: "ended" | "cut" | undefined;

  constructor(options: FakeWatchOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Sends what there is, and that this was it. */
  begin(objects: readonly StoredObject[], version: number): void {
    const { matches } = this.#options;
    for (const object of objects.filter(matches)) this.#push("ADDED", object);
    this.#bookmark(version, { "k8s.io/initial-events-end": "true" });
  }

  take({ collection, before, now }: HistoryEntry): void {
    const { matches, namespace } = this.#options;
    const wanted = (object: StoredObject | undefined) =>
      object !== undefined &&
      (namespace === undefined || object.metadata.namespace === namespace) &&
      matches(object);
    if (collection !== this.#options.collection) return;
    const was = wanted(before);
    const latest = now ?? before;
    if (!latest) return;
    if (wanted(now)) this.#push(was ? "MODIFIED" : "ADDED", inOrder(latest));
    else if (was) this.#push("DELETED", latest);
  }

  /** The connection breaks; events that were not read yet are lost. */
  cut(): void {
    this.#end("cut");
  }

  async *lines(signal: AbortSignal, onOver: () => void): AsyncGenerator<string, void> {
    const cancelEnd = this.#clock.alarm(this.#options.timeoutMs, () => this.#end("ended"));
    let cancelBookmark = () => {};
    const armBookmark = () => {
      cancelBookmark = this.#clock.alarm(BOOKMARK_PERIOD_MS, () => {
        this.#bookmark(this.#options.version(), {});
        armBookmark();
      });
    };
    armBookmark();
    const onAbort = () => this.#end("cut");
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#over === "cut") throw new OutsideError("unavailable", "connection lost");
        const line = this.#queue.shift();
        if (line !== undefined) {
          await this.#clock.sleep(this.#options.delayMs(), signal);
          yield line;
          if (this.#options.repeats()) yield line;
        } else if (this.#over === "ended") return;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      cancelEnd();
      cancelBookmark();
      signal.removeEventListener("abort", onAbort);
      onOver();
    }
  }

  #push(type: string, object: unknown): void {
    this.#queue.push(JSON.stringify({ type, object }));
    this.#wake?.();
  }

  #bookmark(version: number, annotations: Readonly<Record<string, string>>): void {
    this.#push("BOOKMARK", { metadata: { resourceVersion: String(version), annotations } });
  }

  #end(how: "ended" | "cut"): void {
    this.#over ??= how;
    if (how === "cut") {
      this.#over = "cut";
      this.#queue = [];
    }
    this.#wake?.();
  }
}

/** The fields of an object in the order in which Kubernetes sends them, as far as readers may count on it. */
function inOrder({ metadata, ...object }: StoredObject): object {
  const { name, namespace, uid, resourceVersion, ...rest } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, ...rest }, ...object };
}
