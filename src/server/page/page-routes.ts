import type { Clock } from "../../kit/clock.ts";
import type { OwnProcess } from "../../outside/serving.ts";
import { type PageSessions, SESSION_COOKIE } from "../access/page-sessions.ts";
import { type Call, type Handler, replyJson, type ServedRoute, TEXT_HEADERS } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import { EVENT_STREAM, streamChanges } from "../routes/changes.ts";
import { ownRoutes } from "../routes/own-routes.ts";
import type { ServedNode } from "../served-node.ts";
import {
  acceptsBrotli,
  documentReader,
  type PageDocument,
  POLICY,
  type ReadAsset,
} from "./page-document.ts";

/** Address and files of the page. */
export interface PageOptions {
  readonly address: { readonly host: string; readonly port: number };
  /** A file of the page by name, e.g. `index.html`. Rejects when the package has none. */
  readonly readAsset: ReadAsset;
}

interface PageDeps extends PageOptions {
  readonly clock: Clock;
  readonly process: OwnProcess;
  readonly sessions: PageSessions;
}

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Its first word, in paths and cookies. */
const BASE = "/page";
const OWN = "/nodelet/v1/";

/**
 * The page of the node (docs/page.md): its files, its login, and everything that the agent's own socket shows, read-only
 * and under the rights of the HTTPS port. On the socket: a ticket for a browser.
 */
export function nodePageRoutes(node: ServedNode, deps: PageDeps): readonly ServedRoute[] {
  const { sessions, address } = deps;
  const access = { subresources: ["proxy"] };
  const read = documentReader(deps.readAsset);
  const file = (name: string, handler: Handler): ServedRoute => ({
    pattern: `${BASE}/${name}`,
    methods: ["GET"],
    endpoints: ["page"],
    access,
    handler,
  });
  const data = ownRoutes(node, deps)
    .filter(
      ({ methods, pattern }) =>
        methods.every((each) => each === "GET") && pattern !== `${OWN}changes`,
    )
    .map(
      (route): ServedRoute => ({ ...route, pattern: dataPath(route.pattern), endpoints: ["page"] }),
    );
  const stream: Handler = (call) => streamChanges(call, node, deps, EVENT_STREAM);
  return [
    file("", async (call) => replyDocument(call, await read())),
    file("icon.svg", (call) => replyIcon(call, deps)),
    ...data,
    {
      pattern: `${BASE}/data/changes`,
      methods: ["GET"],
      endpoints: ["page"],
      access,
      longRunning: true,
      handler: stream,
    },
    {
      pattern: `${BASE}/login`,
      methods: ["GET"],
      endpoints: ["page"],
      access: "anybody",
      handler: (call) => logIn(call, sessions),
    },
    {
      pattern: `${OWN}page/tickets`,
      methods: ["POST"],
      endpoints: ["local"],
      access,
      handler: (call) => replyJson(call, { url: loginUrl(address, sessions.issueTicket()) }),
    },
  ];
}

/** All below the path that the cookie is for. */
function dataPath(pattern: string): string {
  return pattern.startsWith(OWN) ? pattern.replace(OWN, `${BASE}/data/`) : `${BASE}/data${pattern}`;
}

function loginUrl({ host, port }: PageOptions["address"], ticket: string): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `https://${name}:${port}${BASE}/login?ticket=${ticket}`;
}

/** The page with its script and styles in it: the browser needs no further request before it paints. */
async function replyDocument(call: Call, { plain, brotli, policy }: PageDocument): Promise<void> {
  const isSmall = acceptsBrotli(call.exchange.headers["accept-encoding"]);
  const headers = {
    ...HEADERS,
    "content-security-policy": policy,
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    vary: "accept-encoding",
    ...(isSmall ? { "content-encoding": "br" } : {}),
  };
  await call.exchange.reply(200, headers, isSmall ? brotli : plain);
}

async function replyIcon(call: Call, { readAsset }: PageDeps): Promise<void> {
  const headers = { ...HEADERS, "content-type": "image/svg+xml", "cache-control": "no-cache" };
  await call.exchange.reply(200, headers, await readAsset("icon.svg"));
}

/** Changes the ticket of the link for a session, and leads to the page without the ticket in its address. */
async function logIn(call: Call, sessions: PageSessions): Promise<void> {
  const session = sessions.redeem(call.query.get("ticket") ?? "");
  if (session === undefined)
    throw new HttpProblem(
      401,
      "This link was used or has expired. Run `nodelet page` for a new one.\n",
    );
  const headers = {
    ...HEADERS,
    ...TEXT_HEADERS,
    location: `${BASE}/`,
    "set-cookie": `${SESSION_COOKIE}=${session}; Path=${BASE}; HttpOnly; Secure; SameSite=Strict`,
    "cache-control": "no-store",
  };
  await call.exchange.reply(303, headers, "");
}
