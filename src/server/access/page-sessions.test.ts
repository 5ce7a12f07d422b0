import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { createSeededRandom } from "../../kit/random.ts";
import {
  cookieNamed,
  PageSessions,
  SESSION_COOKIE,
  sessionAuthenticator,
} from "./page-sessions.ts";

const NOBODY = { client: { kind: "none" }, bearerToken: undefined } as const;
const signal = new AbortController().signal;

function setUp() {
  const clock = new SimClock();
  return { clock, sessions: new PageSessions(clock, createSeededRandom(1)) };
}

test("PageSessions: a ticket opens one session, once, within five minutes", async () => {
  const { clock, sessions } = setUp();
  const ticket = sessions.issueTicket();
  const session = sessions.redeem(ticket);
  assert.ok(session !== undefined && sessions.isOpen(session));
  assert.equal(sessions.redeem(ticket), undefined, "a used ticket is worth nothing");
  assert.equal(sessions.redeem(session), undefined, "a session is no ticket");
  assert.equal(sessions.isOpen(ticket), false, "a ticket is no session");
  const late = sessions.issueTicket();
  await clock.advance(5 * 60_000);
  assert.equal(sessions.redeem(late), undefined);
  await clock.advance(12 * 3_600_000);
  assert.equal(sessions.isOpen(session), false, "a session ends");
});

test("PageSessions: of many tickets and sessions the oldest give way", () => {
  const { sessions } = setUp();
  const tickets = Array.from({ length: 17 }, () => sessions.issueTicket());
  assert.equal(sessions.redeem(tickets[0] ?? ""), undefined);
  const opened = Array.from({ length: 65 }, () => sessions.redeem(sessions.issueTicket()) ?? "");
  assert.equal(sessions.isOpen(opened[0] ?? ""), false);
  assert.equal(sessions.isOpen(opened[1] ?? ""), true);
});

test("sessionAuthenticator: the cookie of an open session, and no other", async () => {
  const { sessions } = setUp();
  const session = sessions.redeem(sessions.issueTicket());
  const authenticator = sessionAuthenticator(sessions);
  const kindFor = async (cookie: string | undefined) =>
    (await authenticator.authenticate({ ...NOBODY, cookie }, signal)).kind;
  assert.equal(await kindFor(`other=1; ${SESSION_COOKIE}=${session}`), "identity");
  assert.equal(await kindFor(`${SESSION_COOKIE}=forged`), "refused");
  assert.equal(await kindFor(undefined), "nothing");
});

test("cookieNamed: one cookie of the header", () => {
  const vectors: readonly (readonly [string | undefined, string | undefined])[] = [
    ["a=1", "1"],
    ["b=2; a=1", "1"],
    ["ba=2;a= 1 ", "1"],
    ["a=1=2", "1=2"],
    ["b=a", undefined],
    ["a", undefined],
    [undefined, undefined],
  ];
  for (const [header, value] of vectors) assert.equal(cookieNamed(header, "a"), value, `${header}`);
});
