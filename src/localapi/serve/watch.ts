import { apiVersionOf } from "../../api/text/api-version.ts";
import type { Clock } from "../../kit/clock.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { Random } from "../../kit/random.ts";
import type { ReplyStream } from "../../outside/serving.ts";
import type { ApiObject } from "../api-object.ts";
import { badRequest, expired, type StatusError } from "../status-error.ts";
import type { Change, ObjectStore } from "../store/store.ts";
import { type Showing, showObject, tableOf } from "./forms.ts";
import { isOn } from "./request.ts";
import type { Selects } from "./select.ts";

interface ObjectWatchDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
}

/** A watch request. */
interface WatchRequest {
  readonly showing: Showing;
  readonly selects: Selects;
  readonly query: URLSearchParams;
}

/** Start of a watch. */
interface WatchStart {
  /** Changes after this version are sent. */
  readonly version: number;
  /** Objects that are sent first. */
  readonly initial: readonly ApiObject[];
  /** Whether their end is to be marked. */
  readonly marksEnd: boolean;
  readonly bookmarks: boolean;
  readonly lifetimeMs: number;
}

/** A watch without a timeout ends after 30 to 60 minutes, so that not all come back at once (the API server's). */
const MIN_LIFETIME_MS = 30 * 60_000;
const MAX_LIFETIME_SECONDS = 24 * 3600;
const BOOKMARK_EVERY_MS = 60_000;
const END_OF_INITIAL = { "k8s.io/initial-events-end": "true" };

/** Reads what a watch asks for. Throws `StatusError` BadRequest, or Expired when its past is forgotten. */
export function startOfWatch(
  { store, random }: ObjectWatchDeps,
  request: WatchRequest,
): WatchStart {
  const { query, showing, selects } = request;
  const seconds = Number(query.get("timeoutSeconds") ?? "0");
  if (!(seconds >= 0)) throw badRequest("timeoutSeconds must be a number that is not negative");
  const lifetimeMs =
    seconds > 0
      ? Math.min(seconds, MAX_LIFETIME_SECONDS) * 1000
      : MIN_LIFETIME_MS * (1 + random.next());
  const text = query.get("resourceVersion") ?? "";
  if (text !== "" && !/^[0-9]{1,15}$/.test(text))
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: resource version must be a number`);
  const sendsInitial = isOn(query, "sendInitialEvents");
  const bookmarks = isOn(query, "allowWatchBookmarks");
  const fromNow = text === "" || text === "0" || sendsInitial;
  if (!fromNow && Number(text) < store.forgotten)
    throw expired(`too old resource version: ${text} (${store.forgotten})`);
  const sendsInitialList = sendsInitial || (fromNow && query.get("sendInitialEvents") !== "false");
  const initial = sendsInitialList
    ? (store.listAt(showing.kind.collection, store.version) ?? []).filter(selects)
    : [];
  return {
    version: fromNow ? store.version : Number(text),
    initial,
    marksEnd: sendsInitial && bookmarks,
    bookmarks,
    lifetimeMs,
  };
}

/** Sends changes until the timeout or the peer is gone. Changes that are not read use no memory. */
export async function runWatch(
  deps: ObjectWatchDeps,
  request: WatchRequest,
  start: WatchStart,
  to: { readonly stream: ReplyStream; readonly signal: AbortSignal },
): Promise<void> {
  const { store, clock } = deps;
  const events = new Events(request);
  const { stream, signal } = to;
  const wakeup = new Wakeup();
  using subscriptions = new DisposableStack();
  subscriptions.defer(store.versions.subscribe(() => wakeup.wake()));
  const endsAt = clock.monotonic() + start.lifetimeMs;
  for (const object of start.initial) await stream.write(events.line("ADDED", object));
  if (start.marksEnd) await stream.write(events.bookmark(start.version, END_OF_INITIAL));
  let sent = start.version;
  let bookmarkAt = clock.monotonic() + BOOKMARK_EVERY_MS;
  while (!signal.aborted) {
    const changes = store.since(sent);
    if (!changes) {
      await stream.write(events.failure(expired(`too old resource version: ${sent}`)));
      break;
    }
    for (const change of changes) {
      const line = events.change(change);
      if (line !== undefined) await stream.write(line);
      sent = change.version;
    }
    if (clock.monotonic() >= endsAt) break;
    if (start.bookmarks && clock.monotonic() >= bookmarkAt) {
      await stream.write(events.bookmark(Math.max(sent, store.version), {}));
      bookmarkAt = clock.monotonic() + BOOKMARK_EVERY_MS;
    }
    const nextAt = start.bookmarks ? Math.min(bookmarkAt, endsAt) : endsAt;
    await wakeup.wait({ clock, ms: Math.max(0, nextAt - clock.monotonic()) }, signal);
  }
  if (start.bookmarks && !signal.aborted) await stream.write(events.bookmark(sent, {}));
}

/** Writes the lines of one watch. */
class Events {
  readonly #request: WatchRequest;
  #hasColumns = false;

  constructor(request: WatchRequest) {
    this.#request = request;
  }

  change({ collection, before, now, last }: Change): string | undefined {
    const { showing, selects } = this.#request;
    if (collection !== showing.kind.collection) return undefined;
    const was = before !== undefined && selects(before);
    const is = now !== undefined && selects(now);
    if (is) return this.line(was ? "MODIFIED" : "ADDED", now);
    // An object that no longer matches is sent as it last matched, with the version of the change.
    return was
      ? this.line("DELETED", now === undefined ? last : lastSeen(before, last))
      : undefined;
  }

  line(type: string, object: ApiObject): string {
    return `${JSON.stringify({ type, object: this.#shown(object) })}\n`;
  }

  bookmark(version: number, annotations: Readonly<Record<string, string>>): string {
    const { kind } = this.#request.showing;
    const object = {
      kind: kind.kind,
      apiVersion: apiVersionOf(kind),
      metadata: {
        resourceVersion: String(version),
        creationTimestamp: null,
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      },
    };
    return `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
  }

  failure({ status }: StatusError): string {
    return `${JSON.stringify({ type: "ERROR", object: status })}\n`;
  }

  #shown(object: ApiObject): object {
    const { showing } = this.#request;
    if (showing.form.as !== "table") return showObject(object, showing);
    const { resourceVersion = "" } = object.metadata;
    const table = tableOf([object], showing, { resourceVersion }, this.#hasColumns);
    this.#hasColumns = true;
    return table;
  }
}

function lastSeen(before: ApiObject, { metadata }: ApiObject): ApiObject {
  const { resourceVersion = "" } = metadata;
  return { ...before, metadata: { ...before.metadata, resourceVersion } };
}
