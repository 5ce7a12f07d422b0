/**
 * State of the node on the page: a snapshot, then each change as the agent reports it, over one stream of
 * server-sent events.
 */
import type { CoreEvent, Pod } from "../api/generated/types.ts";
import type { ShownPod } from "../api/pod/shown-pod.ts";
import type { NodeChange, Overview } from "../present/shapes.ts";

/** More are dropped, oldest first. */
const MAX_EVENTS = 1_000;

/** State of the connection to the agent. */
export type Connection = "connecting" | "live" | "lost" | "refused";

/** State of the node as shown. */
export interface ShownNode {
  readonly connection: Connection;
  readonly overview: Overview | undefined;
  /** By UID. */
  readonly pods: ReadonlyMap<string, ShownPod>;
  /** Oldest first. */
  readonly events: readonly CoreEvent[];
}

/** Properties of every view. */
export interface ViewProps {
  readonly state: ShownNode;
}

/** The latest state, and the callbacks for changes. */
export class NodeStore {
  #connection: Connection = "connecting";
  #overview: Overview | undefined;
  readonly #pods = new Map<string, ShownPod>();
  /** By namespace and name, oldest first. */
  readonly #events = new Map<string, CoreEvent>();
  /** The same as a list, as long as it is right. */
  #eventList: readonly CoreEvent[] | undefined;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The state now; its maps and lists are not to be changed. */
  get state(): ShownNode {
    this.#eventList ??= [...this.#events.values()];
    return {
      connection: this.#connection,
      overview: this.#overview,
      pods: this.#pods,
      events: this.#eventList,
    };
  }

  /** Follows the node until the page is closed. A stream that breaks is opened again by the browser. */
  follow(url: string): void {
    const source = new EventSource(url);
    source.onopen = () => this.#begin();
    source.onmessage = ({ data }: MessageEvent<string>) =>
      this.take(JSON.parse(data) as NodeChange);
    source.onerror = () =>
      this.#setConnection(source.readyState === EventSource.CLOSED ? "refused" : "lost");
  }

  /** Takes a change over. */
  take(change: NodeChange): void {
    switch (change.kind) {
      case "overview":
        this.#overview = change.overview;
        break;
      case "pod":
        this.#pods.set(uidOf(change.pod), change.pod);
        break;
      case "podGone":
        this.#pods.delete(change.uid);
        break;
      case "event":
        this.#addEvent(change.event);
        break;
      case "synced":
        this.#connection = "live";
        break;
      default:
        return;
    }
    this.#onChange();
  }

  /** The agent sends a full snapshot again. */
  #begin(): void {
    this.#pods.clear();
    this.#events.clear();
    this.#eventList = undefined;
  }

  /** An event that is counted again replaces what it was. */
  #addEvent(event: CoreEvent): void {
    const key = `${event.metadata.namespace}/${event.metadata.name}`;
    this.#events.delete(key);
    this.#events.set(key, event);
    for (const oldest of this.#events.keys()) {
      if (this.#events.size <= MAX_EVENTS) break;
      this.#events.delete(oldest);
    }
    this.#eventList = undefined;
  }

  #setConnection(connection: Connection): void {
    this.#connection = connection;
    this.#onChange();
  }
}

/** The UID of a pod. */
export function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? "";
}
