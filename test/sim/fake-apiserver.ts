// An API server on virtual time that can be slow, away, forgetful and mistaken in the ways real ones are.
import { Cell } from "../../src/kit/cell.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { Random } from "../../src/kit/random.ts";
import type {
  ApiReply,
  ApiRequest,
  ApiTransport,
  ApiWatchReply,
  ApiWatchRequest,
} from "../../src/outside/kube/kube.ts";
import { FakeApiObjects, type Place, Refusal, type StoredObject } from "./fake-api-objects.ts";
import { FakeWatch } from "./fake-watch.ts";

export interface FakeApiOptions {
  /** Time a request takes, up to twice that; half of it before and half after it has its effect. */
  latencyMs: number;
  /** Share of requests that fail without effect. */
  faults: number;
  /** Share of requests that have their effect and whose answer is lost. */
  lateFaults: number;
  /** Share of updates and patches that are refused as conflicts. */
  conflicts: number;
  /** Share of events of a watch that come twice. */
  duplicates: number;
}

export const CALM_API: FakeApiOptions = {
  latencyMs: 2,
  faults: 0,
  lateFaults: 0,
  conflicts: 0,
  duplicates: 0,
};

interface Route {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

export class FakeApiServer implements ApiTransport {
  readonly options: FakeApiOptions;
  readonly objects: FakeApiObjects;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #watches = new Set<FakeWatch>();
  readonly #reachable = new Cell(true);
  #down = false;
  /** Requests that had an effect, as `METHOD path`. */
  readonly effects: string[] = [];
  /** Called for what the rules of the API refuse. */
  onInvalid: (message: string) => void = () => {};
  /** Answers that are not made from objects, by path. */
  readonly special = new Map<string, (body: unknown) => unknown>();

  constructor(clock: Clock, random: Random, options: Partial<FakeApiOptions> = {}) {
    this.#clock = clock;
    this.#random = random;
    this.options = { ...CALM_API, ...options };
    this.objects = new FakeApiObjects(clock, random);
    this.objects.onChange = (entry) => {
      for (const watch of this.#watches) watch.take(entry);
    };
  }

  get reachable(): Cell<boolean> {
    return this.#reachable;
  }

  get isDown(): boolean {
    return this.#down;
  }

  goDown(): void {
    this.#down = true;
    this.#reachable.set(false);
    this.cutWatches();
  }

  comeBack(): void {
    this.#down = false;
    this.#reachable.set(true);
  }

  /** Breaks every watch, as a load balancer does that has had enough. */
  cutWatches(): void {
    for (const watch of this.#watches) watch.cut();
  }

  close(): void {
    this.cutWatches();
  }

  async request(request: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    const pauseMs = this.#random.next() * this.options.latencyMs;
    await this.#clock.sleep(pauseMs, signal);
    if (this.#down || this.#random.next() < this.options.faults / 2)
      throw new OutsideError("unavailable", "connect: connection refused");
    if (this.#random.next() < this.options.faults / 2) return this.#busy();
    const reply = this.#answer(request);
    const lost = this.#random.next() < this.options.lateFaults;
    await this.#clock.sleep(pauseMs, signal);
    if (lost || this.#down) throw new OutsideError("unavailable", "connection lost");
    return reply;
  }

  async watch(request: ApiWatchRequest, signal: AbortSignal): Promise<ApiWatchReply> {
    await this.#clock.sleep(this.#random.next() * this.options.latencyMs, signal);
    if (this.#down || this.#random.next() < this.options.faults)
      throw new OutsideError("unavailable", "connect: connection refused");
    const { collection, namespace, query } = routeOf(request.path);
    const from = query.get("resourceVersion");
    const initial = query.get("sendInitialEvents") === "true";
    if (from !== null && Number(from) < this.objects.forgottenUpTo)
      return { kind: "refused", reply: replyOf(410, gone(from).status) };
    const watch = new FakeWatch(
      {
        collection,
        namespace,
        matches: selector(query),
        timeoutMs: Number(query.get("timeoutSeconds") ?? "300") * 1000,
        delayMs: () => this.#random.next() * this.options.latencyMs,
        repeats: () => this.#random.next() < this.options.duplicates,
        version: () => this.objects.version,
      },
      this.#clock,
    );
    if (initial) watch.begin(this.objects.list(collection, namespace), this.objects.version);
    else
      for (const entry of this.objects.history) if (entry.version > Number(from)) watch.take(entry);
    this.#watches.add(watch);
    return { kind: "stream", lines: watch.lines(signal, () => this.#watches.delete(watch)) };
  }

  #busy(): ApiReply {
    const code = this.#random.next() < 0.5 ? 429 : 500;
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, message: "busy" };
    return replyOf(code, status, this.#random.next() < 0.5 ? { "retry-after": "1" } : {});
  }

  #answer(request: ApiRequest): ApiReply {
    try {
      const route = routeOf(request.path);
      const body = JSON.parse(request.body ?? "null") as never;
      const special = this.special.get(request.path.split("?")[0] ?? "");
      if (special) return replyOf(200, special(body));
      if (request.method === "GET")
        return replyOf(
          200,
          route.name === undefined ? this.#list(route) : this.objects.get(placeOf(route)),
        );
      if (request.method === "DELETE" && route.name === undefined)
        return replyOf(200, this.#deleteAll(route));
      if (request.method !== "POST" && this.#random.next() < this.options.conflicts)
        throw new Refusal(409, "Conflict", "the object has been modified");
      const result = this.#change(request, route, body);
      this.effects.push(`${request.method} ${request.path}`);
      return replyOf(request.method === "POST" ? 201 : 200, result);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status.code === 422) this.onInvalid(error.message);
      return replyOf(error.status.code ?? 500, error.status);
    }
  }

  #change(request: ApiRequest, route: Route, body: never): unknown {
    const status = route.subresource === "status";
    switch (request.method) {
      case "POST":
        return this.objects.create(route, body);
      case "PUT":
        return this.objects.update(placeOf(route), status, body);
      case "PATCH": {
        const strategic = request.contentType === "application/strategic-merge-patch+json";
        return this.objects.patch(placeOf(route), status, { body, strategic });
      }
      default:
        return this.objects.delete(placeOf(route), body ?? {});
    }
  }

  #deleteAll(route: Route): unknown {
    const { collection, namespace, query } = route;
    const items = this.objects.list(collection, namespace).filter(selector(query));
    for (const { metadata } of items) {
      const { name = "" } = metadata;
      this.objects.delete({ collection, namespace: metadata.namespace, name }, {});
      this.effects.push(`DELETE ${collection} ${name}`);
    }
    return { kind: "List", apiVersion: "v1", metadata: {}, items };
  }

  #list({ collection, namespace, query }: Route): unknown {
    const [from = 0, version = this.objects.version] = (query.get("continue") ?? "")
      .split(":")
      .filter((part) => part !== "")
      .map(Number);
    const all = this.objects.list(collection, namespace).filter(selector(query));
    const limit = Number(query.get("limit") ?? "0") || all.length;
    const items = all.slice(from, from + limit);
    const more = from + limit < all.length ? { continue: `${from + limit}:${version}` } : {};
    return {
      kind: "List",
      apiVersion: "v1",
      metadata: { resourceVersion: String(version), ...more },
      items,
    };
  }
}

function replyOf(status: number, body: unknown, headers: Record<string, string> = {}): ApiReply {
  return { status, headers, body: JSON.stringify(body) };
}

function gone(version: string): Refusal {
  return new Refusal(410, "Expired", `too old resource version: ${version}`);
}

function placeOf({ collection, namespace, name }: Route): Place {
  if (name === undefined) throw new Refusal(405, "MethodNotAllowed", "a name is missing");
  return { collection, namespace, name };
}

function routeOf(path: string): Route {
  const url = new URL(path, "http://api");
  const parts = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  const group = parts[0] === "apis" ? `${parts[1]}/` : "";
  const rest = parts.slice(parts[0] === "apis" ? 3 : 2);
  const namespaced = rest[0] === "namespaces" && rest.length > 2;
  const [collection = "", name, subresource] = namespaced ? rest.slice(2) : rest;
  return {
    collection: `${group}${collection}`,
    namespace: namespaced ? rest[1] : undefined,
    name,
    subresource,
    query: url.searchParams,
  };
}

/** Field selectors on names and nodes, label selectors of equality. */
function selector(query: URLSearchParams): (object: StoredObject) => boolean {
  const terms = (text: string | null) =>
    (text ?? "")
      .split(",")
      .filter((term) => term !== "")
      .map((term) => term.split("=", 2) as [string, string]);
  const fields = terms(query.get("fieldSelector"));
  const labels = terms(query.get("labelSelector"));
  const fieldOf = (object: StoredObject, path: string) =>
    path
      .split(".")
      .reduce<unknown>(
        (value, key) => (value as Record<string, unknown> | undefined)?.[key],
        object,
      );
  return (object) =>
    fields.every(([path, value]) => String(fieldOf(object, path) ?? "") === value) &&
    labels.every(([key, value]) => object.metadata.labels?.[key] === value);
}
