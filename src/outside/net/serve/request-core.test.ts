import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ask } from "../../../../test/server/http.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { InvariantError, OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { silentLog } from "../../../kit/log.ts";
import { TaskScope } from "../../../kit/scope.ts";
import { createListen } from "./http-listener.ts";
import type { Exchange, ListenOptions } from "./listen.ts";
import {
  HTTP_LIMITS,
  type RequestService,
  type ServeOptions,
  serveRequests,
} from "./request-core.ts";
import { bearerTokenOf, parseTarget } from "./request-target.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-core-"));
after(() => rmSync(folder, { recursive: true, force: true }));

class Refused extends Error {}

type Handler = (exchange: Exchange) => Promise<void>;

/** Routes by path; `/long…` is long-running, `/secret…` is for nobody. */
class TestService implements RequestService<string, string> {
  begun = 0;
  ended = 0;
  readonly #handlers: Readonly<Record<string, Handler>>;

  constructor(handlers: Readonly<Record<string, Handler>> = {}) {
    this.#handlers = handlers;
  }

  match(_method: string, target: ReturnType<typeof parseTarget>): string {
    return target?.path ?? "no path";
  }

  mayUpgrade(): boolean {
    return false;
  }

  isLongRunning(route: string): boolean {
    return route.startsWith("/long");
  }

  begin(): () => void {
    this.begun += 1;
    return () => {
      this.ended += 1;
    };
  }

  async admit({ route }: { readonly route: string }): Promise<string> {
    if (route.startsWith("/secret")) throw new Refused("not for you");
    return "somebody";
  }

  async answer(
    { exchange, route }: { readonly exchange: Exchange; readonly route: string },
    caller: string,
  ): Promise<void> {
    const handler = this.#handlers[route];
    if (handler) await handler(exchange);
    else await exchange.reply(200, {}, `${caller} at ${route}`);
  }

  refusal(error: unknown) {
    return error instanceof Refused
      ? { status: 403, headers: { "x-refused": "yes" }, body: error.message }
      : undefined;
  }

  failure(status: 429 | 500, message = "no details") {
    return { status, headers: {}, body: message };
  }
}

let sockets = 0;

/** Serves on a socket of its own, with all that is logged. */
async function serving(service: TestService, more: Partial<ServeOptions> = {}) {
  const lines: (readonly [string, unknown])[] = [];
  const log: Log = {
    ...silentLog,
    error: (message, fields) => lines.push([message, fields]),
    verbose: (_, message, fields) => lines.push([message, fields]),
    enabled: () => true,
  };
  sockets += 1;
  const socketPath = join(folder, `${sockets}.sock`);
  const scope = new TaskScope("test", { clock: createSystemClock(), log: silentLog });
  const asked: ListenOptions[] = [];
  const real = createListen();
  const listener = await serveRequests(
    service,
    { addresses: [{ kind: "unix", path: socketPath }], ...more },
    {
      listen: (options) => {
        asked.push(options);
        return real(options);
      },
      scope,
      log,
    },
  );
  return {
    listener,
    socketPath,
    asked,
    lines,
    get: (path: string) => ask({ socketPath, path }),
    [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
  };
}

test("serveRequests: a request is matched, admitted and answered, and its end is reported", async () => {
  const service = new TestService();
  await using server = await serving(service);
  const { status, body } = await server.get("/here?a=b");
  assert.deepEqual([status, body], [200, "somebody at /here"]);
  assert.equal((await server.get("/%zz")).body, "somebody at no path");
  assert.deepEqual([service.begun, service.ended], [2, 2]);
});

test("serveRequests: limits are the common ones, but for those of the server", async () => {
  await using server = await serving(new TestService(), { limits: { connections: 7 } });
  assert.deepEqual(server.asked[0]?.limits, { ...HTTP_LIMITS, connections: 7 });
});

test("serveRequests: errors become replies, and only faults are reported", async () => {
  const failWith = (error: unknown) => async () => {
    throw error;
  };
  await using server = await serving(
    new TestService({
      "/refused": failWith(new Refused("no")),
      "/outside": failWith(new OutsideError("io", "disk is gone")),
      "/invariant": failWith(new InvariantError("never twice")),
      "/aborted": failWith(new OutsideError("aborted", "it is over")),
      "/bug": failWith(new TypeError("secret of /our/code.ts")),
    }),
  );
  const table: readonly (readonly [string, number, string, boolean])[] = [
    ["/refused", 403, "no", false],
    ["/secret", 403, "not for you", false],
    ["/outside", 500, "disk is gone", true],
    ["/invariant", 500, "no details", true],
    ["/aborted", 500, "it is over", false],
    ["/bug", 500, "no details", true],
  ];
  for (const [path, expectedStatus, expectedBody, isReported] of table) {
    server.lines.length = 0;
    const { status, body, headers } = await server.get(path);
    assert.deepEqual([status, body], [expectedStatus, expectedBody], path);
    assert.equal(headers["x-refused"], expectedStatus === 403 ? "yes" : undefined);
    const reports = server.lines.filter(([message]) => message === "failed to serve a request");
    assert.equal(reports.length, isReported ? 1 : 0, path);
  }
});

test("serveRequests: an error after the answer has begun cuts the connection", async () => {
  await using server = await serving(
    new TestService({
      "/half": async (exchange) => {
        await exchange.replyStream(200, {}).write("half of it");
        throw new Refused("too late");
      },
    }),
  );
  await assert.rejects(server.get("/half"));
  assert.equal((await server.get("/next")).status, 200);
});

test("serveRequests: requests are logged with the path alone, and not all of a long one", async () => {
  await using server = await serving(new TestService());
  await server.get(`/${"a".repeat(1_000)}?token=secret`);
  const [, fields] = server.lines.find(([message]) => message === "HTTP") ?? [];
  assert.deepEqual(fields, {
    method: "GET",
    path: `/${"a".repeat(511)}`,
    peer: "unix",
    status: 200,
  });
});

test("serveRequests: 500 streams at once and no more; the others are answered", async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const stream: Handler = async (exchange) => {
    const reply = exchange.replyStream(200, {});
    await reply.write("begin");
    await isOver;
    await reply.end();
  };
  await using server = await serving(new TestService({ "/long": stream }));
  const open = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const asked = httpRequest({ socketPath: server.socketPath, path: "/long", agent: false });
      asked.on("response", resolve);
      asked.on("error", reject);
      asked.end();
    });
  const streams = await Promise.all(Array.from({ length: 500 }, open));
  assert.ok(streams.every(({ statusCode }) => statusCode === 200));
  const { status, body } = await server.get("/long");
  assert.deepEqual([status, body], [429, "too many open streams"]);
  assert.equal((await server.get("/short")).status, 200);
  end();
  await Promise.all(streams.map((each) => each.resume() && once(each)));
  const [again] = await Promise.all([open()]);
  assert.equal(again.statusCode, 200);
  again.resume();
});

function once(response: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    response.on("end", resolve);
  });
}

test("serveRequests: takes the first address that is free", async () => {
  await using first = await serving(new TestService());
  const taken = { kind: "unix", path: first.socketPath } as const;
  const other = { kind: "unix", path: join(folder, "other.sock") } as const;
  await assert.rejects(
    serving(new TestService(), { addresses: [taken] }),
    (error) => error instanceof OutsideError && error.code === "alreadyExists",
  );
  await using second = await serving(new TestService(), { addresses: [taken, other] });
  assert.deepEqual(second.listener.address, other);
});

test("serveRequests: the listener ends with the scope", async () => {
  const server = await serving(new TestService());
  await server[Symbol.asyncDispose]();
  await assert.rejects(server.get("/here"), /ENOENT|ECONNREFUSED/);
});

test("parseTarget: takes path and query apart, and refuses what is no path", () => {
  const parsed = parseTarget("/a%2Fb//c/?x=1&x=2?");
  assert.equal(parsed?.path, "/a%2Fb//c/");
  assert.deepEqual(parsed?.parts, ["", "a/b", "", "c", ""]);
  assert.deepEqual(parsed?.query.getAll("x"), ["1", "2?"]);
  for (const bad of ["", "*", "http://evil/", "/%zz", `/${"a".repeat(4096)}`, "/a".repeat(64)])
    assert.equal(parseTarget(bad), undefined, bad.slice(0, 20));
  const query = "a".repeat(500_000);
  assert.equal(parseTarget(`/exec?command=${query}`)?.query.get("command"), query);
});

test("bearerTokenOf: the token of the header, if it is of that kind", () => {
  const vectors: readonly (readonly [string | undefined, string | undefined])[] = [
    ["Bearer abc", "abc"],
    ["bearer   abc ", "abc"],
    ["Bearer a b", undefined],
    ["Bearer", undefined],
    ["Basic abc", undefined],
    [undefined, undefined],
  ];
  for (const [header, token] of vectors) assert.equal(bearerTokenOf(header), token, `${header}`);
});

test("many requests at once leave turns to everything else", async () => {
  const order: string[] = [];
  const busy: Handler = async (exchange) => {
    order.push("request");
    // What has been due since the request before comes first.
    setTimeout(() => order.push("timer"), 0);
    const until = performance.now() + 3;
    while (performance.now() < until);
    await exchange.reply(200, {}, "");
  };
  await using served = await serving(new TestService({ "/busy": busy }));
  await Promise.all(Array.from({ length: 40 }, () => served.get("/busy")));
  const rows = order.join(" ").split("request request").length - 1;
  assert.equal(order.filter((each) => each === "request").length, 40);
  assert.ok(rows <= 4, `requests were answered without a turn in between: ${order.join(" ")}`);
});
