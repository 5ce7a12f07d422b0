import { retryDelayMs } from "../../../kit/backoff.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../../kit/errors.ts";
import { after } from "../../../kit/instant.ts";
import type { Log } from "../../../kit/log.ts";
import type { Random } from "../../../kit/random.ts";
import { within } from "../../../kit/within.ts";
import type { ApiActivity } from "../activity.ts";
import { dialServer } from "./dial.ts";
import { exchange, exchangeLines } from "./h2-exchange.ts";
import { H2Session, NotTakenError } from "./h2-session.ts";
import { ApiHeaderWriter, type ApiRequestHead } from "./request-headers.ts";
import type {
  ApiEndpoint,
  ApiReply,
  ApiRequest,
  ApiTransport,
  ApiWatchReply,
  ApiWatchRequest,
} from "./transport.ts";

export interface TransportDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly userAgent: string;
  readonly activity: ApiActivity;
}

/** Between attempts to connect, however many requests wait for it. */
const DIAL_PACE = { initialMs: 100, maxMs: 1_000 };
/** Connections made in a row because the certificate was renewed while the last one was made. */
const MAX_DIALS = 4;
/** How long streams of a connection that was made with an old certificate may go on. */
const RENEWED_GRACE_MS = 10_000;
/** Retries of a request that the server did not process. */
const MAX_RESENDS = 3;

/** Speaks HTTP/2 to one API server over as many connections as the streams need. */
export class H2Transport implements ApiTransport {
  readonly #endpoint: ApiEndpoint;
  readonly #deps: TransportDeps;
  readonly #authority: string;
  readonly #prefix: string;
  readonly #headers: ApiHeaderWriter;
  readonly #sessions = new Set<H2Session>();
  readonly #watches = new Set<() => void>();
  readonly #reachable = new Cell(false);
  readonly #stopFollowing: (() => void) | undefined;
  readonly #noteClosed: () => void;
  #dialing: Promise<void> | undefined;
  #failedDials = 0;
  #mayDialAt = 0;
  #closed = false;

  constructor(endpoint: ApiEndpoint, deps: TransportDeps) {
    this.#endpoint = endpoint;
    this.#deps = deps;
    const url = new URL(endpoint.server);
    this.#authority = url.host;
    this.#prefix = url.pathname.replace(/\/+$/, "");
    this.#headers = new ApiHeaderWriter({
      authority: this.#authority,
      userAgent: deps.userAgent,
      fields: endpoint.credentials.headers ?? {},
    });
    this.#stopFollowing = endpoint.credentials.identity?.subscribe(() => this.#renew());
    this.#noteClosed = deps.activity.opened();
  }

  get host(): string {
    return this.#authority;
  }

  get reachable(): Reading<boolean> {
    return this.#reachable;
  }

  async request(request: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    const { clock } = this.#deps;
    const deadline = after(clock.monotonic(), request.timeoutMs);
    const repeatable = request.method === "GET";
    const { body } = request;
    const send = async (refused: boolean) => {
      const authorization = await this.#authorization(refused, signal);
      const block = this.#block(request, authorization, true);
      return await this.#resending({ repeatable, deadline, signal }, (session, timeoutMs) =>
        exchange(session, { block, body, timeoutMs }, clock, signal),
      );
    };
    const reply = await send(false);
    if (reply.status !== 401 || !this.#endpoint.credentials.token) return reply;
    return await send(true);
  }

  async watch(request: ApiWatchRequest, signal: AbortSignal): Promise<ApiWatchReply> {
    const { lifetimeMs, path } = request;
    const { clock } = this.#deps;
    const deadline = after(clock.monotonic(), request.timeoutMs);
    const onOpen = (stop: () => void) => {
      this.#watches.add(stop);
      return () => void this.#watches.delete(stop);
    };
    const send = async (refused: boolean) => {
      const authorization = await this.#authorization(refused, signal);
      const block = this.#block({ method: "GET", path }, authorization, false);
      const terms = { repeatable: true, deadline, signal };
      return await this.#resending(terms, (session, timeoutMs) =>
        exchangeLines(session, { block, timeoutMs, lifetimeMs, onOpen }, clock, signal),
      );
    };
    let reply = await send(false);
    const refused = reply.kind === "refused" && reply.reply.status === 401;
    if (refused && this.#endpoint.credentials.token) reply = await send(true);
    return reply.kind === "refused" ? reply : { kind: "stream", lines: reply.lines };
  }

  close(): void {
    this.#closed = true;
    this.#noteClosed();
    this.#stopFollowing?.();
    for (const session of this.#sessions) session.destroy();
  }

  /** Resends unprocessed requests, and retries idempotent ones once. */
  async #resending<T>(
    { repeatable, deadline, signal }: Terms,
    send: (session: H2Session, timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#deps;
    const left = () => Math.max(1, deadline - clock.monotonic());
    for (let sent = 1; ; sent += 1) {
      let session = this.#freeSession();
      // Others that waited for the same connection may have taken its streams meanwhile.
      while (!session || session.freeStreams <= 0) session = await this.#newSession(left(), signal);
      try {
        return await send(session, left());
      } catch (error) {
        const notTaken = error instanceof NotTakenError;
        // A broken connection may have been dead for long; a new one shows it.
        const stale = repeatable && sent === 1 && isOutside(error, "unavailable");
        if (sent > MAX_RESENDS || !(notTaken || stale)) throw error;
      }
    }
  }

  #freeSession(): H2Session | undefined {
    if (this.#closed) throw new OutsideError("unavailable", "the client is closed");
    for (const session of this.#sessions) if (session.freeStreams > 0) return session;
    return undefined;
  }

  /** Waits for a connection that takes streams. It is made for other callers too, and goes on after the wait. */
  #newSession(ms: number, signal: AbortSignal): Promise<H2Session> {
    const message = "no connection to the API server in time";
    const limit = { clock: this.#deps.clock, ms, message };
    return within(limit, signal, () => this.#availableSession());
  }

  async #availableSession(): Promise<H2Session> {
    for (;;) {
      const session = this.#freeSession();
      if (session) return session;
      this.#dialing ??= this.#dial().finally(() => {
        this.#dialing = undefined;
      });
      await this.#dialing;
    }
  }

  /** One connection at a time, and not faster than the pace: a server that is down is left in peace. */
  async #dial(): Promise<void> {
    const { clock, random, log } = this.#deps;
    const waitMs = this.#mayDialAt - clock.monotonic();
    if (waitMs > 0) await new Promise<void>((resolve) => clock.alarm(waitMs, resolve));
    try {
      await this.#connect();
      this.#failedDials = 0;
      this.#reachable.set(true);
    } catch (error) {
      this.#failedDials += 1;
      const pauseMs = retryDelayMs(this.#failedDials, DIAL_PACE) * (0.5 + random.next() / 2);
      this.#mayDialAt = clock.monotonic() + pauseMs;
      this.#reachable.set(false);
      log.verbose(4, "no connection to the API server", { error });
      throw error;
    }
  }

  /** Makes a connection with the certificate that is the present one when it stands. */
  async #connect(): Promise<void> {
    const { clock, activity } = this.#deps;
    const { identity } = this.#endpoint.credentials;
    const host = this.#authority;
    for (let dials = 1; dials <= MAX_DIALS; dials += 1) {
      const shown = identity?.get();
      const dialed = await dialServer(this.#endpoint, shown, {
        clock,
        onLookup: (seconds) => activity.report({ kind: "lookup", host, seconds }),
      });
      const session = new H2Session(dialed, {
        clock,
        onRetired: (retired) => this.#sessions.delete(retired),
      });
      if (!this.#closed && identity?.get() === shown) {
        this.#sessions.add(session);
        return;
      }
      // One that was not among the sessions when the certificate was renewed has not been retired.
      session.destroy();
      if (this.#closed) return;
    }
    throw new OutsideError("unavailable", "the client certificate keeps changing");
  }

  /** There is a new certificate: from now on only connections made with it are used. */
  #renew(): void {
    const old = [...this.#sessions];
    for (const session of old) session.retire();
    for (const stop of [...this.#watches]) stop();
    this.#deps.clock.alarm(RENEWED_GRACE_MS, () => {
      for (const session of old) session.destroy("the client certificate was renewed");
    });
  }

  async #authorization(refused: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { token, basic } = this.#endpoint.credentials;
    const bearer = await token?.(refused, signal);
    if (bearer !== undefined) return `Bearer ${bearer}`;
    return basic && `Basic ${btoa(`${basic.username}:${basic.password}`)}`;
  }

  #block(
    { method, path, body, contentType, headers }: Omit<ApiRequest, "timeoutMs">,
    authorization: string | undefined,
    acceptsGzip: boolean,
  ): Uint8Array {
    const head: ApiRequestHead = {
      method,
      path: `${this.#prefix}${path}`,
      contentType: body === undefined ? undefined : (contentType ?? "application/json"),
      authorization,
      acceptsGzip,
      fields: headers,
    };
    try {
      return this.#headers.write(head);
    } catch (error) {
      throw new OutsideError("invalid", `the request cannot be sent: ${messageOf(error)}`);
    }
  }
}

interface Terms {
  readonly repeatable: boolean;
  readonly deadline: MonotonicMs;
  readonly signal: AbortSignal;
}
