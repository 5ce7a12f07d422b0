/**
 * Access of browsers to the page of the node. A browser has neither a client certificate nor a token: root on the
 * node takes a ticket from the agent's own socket, and the browser changes it for a session, which is a cookie.
 */
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Random } from "../../kit/random.ts";
import type { Identity } from "../identity.ts";
import { ALL_AUTHENTICATED, type Authenticator } from "./authenticate.ts";

/** A ticket is opened by a browser at once, and is worth nothing after that. */
const TICKET_MS = 5 * 60_000;
/** A working day. */
const SESSION_MS = 12 * 3_600_000;
/** Sessions open at once at the most; the oldest is closed for a new one. */
const MAX_TICKETS = 16;
const MAX_SESSIONS = 64;
const SECRET_BYTES = 32;

/** Name of the cookie that holds a session. */
export const SESSION_COOKIE = "nodelet-page";

/** The user of a session. The page is read-only, so what it may do is what its routes offer. */
const PAGE_USER: Identity = {
  name: "nodelet:page",
  groups: ["system:masters", ALL_AUTHENTICATED],
};

/** Tickets and sessions of the page. */
export class PageSessions {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tickets = new Map<string, MonotonicMs>();
  readonly #sessions = new Map<string, MonotonicMs>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** A new ticket, good for one session within five minutes. */
  issueTicket(): string {
    return this.#add(this.#tickets, TICKET_MS, MAX_TICKETS);
  }

  /** Changes a ticket for a session; undefined for one that was used, has expired or never was. */
  redeem(ticket: string): string | undefined {
    const isGood = this.#isGood(this.#tickets, ticket);
    this.#tickets.delete(ticket);
    return isGood ? this.#add(this.#sessions, SESSION_MS, MAX_SESSIONS) : undefined;
  }

  /** Whether a session goes on. */
  isOpen(session: string): boolean {
    return this.#isGood(this.#sessions, session);
  }

  #add(secrets: Map<string, MonotonicMs>, forMs: number, limit: number): string {
    const secret = this.#random.hex(SECRET_BYTES);
    secrets.set(secret, (this.#clock.monotonic() + forMs) as MonotonicMs);
    for (const oldest of secrets.keys()) {
      if (secrets.size <= limit) break;
      secrets.delete(oldest);
    }
    return secret;
  }

  #isGood(secrets: Map<string, MonotonicMs>, secret: string): boolean {
    const until = secrets.get(secret);
    return until !== undefined && this.#clock.monotonic() < until;
  }
}

/** Knows callers by their session; a session that is over is refused, as an expired token is. */
export function sessionAuthenticator(sessions: Pick<PageSessions, "isOpen">): Authenticator {
  return {
    authenticate: async ({ cookie }) => {
      const session = cookieNamed(cookie, SESSION_COOKIE);
      if (session === undefined) return { kind: "nothing" };
      return sessions.isOpen(session)
        ? { kind: "identity", identity: PAGE_USER }
        : { kind: "refused", why: "the session of the page is over" };
    },
  };
}

/** The value of a cookie in the header of a request (RFC 6265). */
export function cookieNamed(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(";") ?? []) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
