import { isChosen, parseEventChoice } from "../../api/event-choice.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { Clock } from "../../kit/clock.ts";
import type { OwnProcess } from "../../outside/serving.ts";
import { type Call, type Handler, replyJson, type ServedRoute } from "../call.ts";
import { replyControlPlane } from "../control-plane/control-plane.ts";
import { replyRecord } from "../debug/flight-route.ts";
import { HttpProblem } from "../http-problem.ts";
import { findPod, listProblems, type ServedNode } from "../served-node.ts";
import { shownPod, shownPods } from "../shown-pods.ts";
import { replyApiPod } from "./api-pods.ts";
import { cgroupRoutes } from "./cgroup-routes.ts";
import { streamChanges } from "./changes.ts";
import { evictionRoutes } from "./eviction-routes.ts";
import { imageRoutes } from "./image-routes.ts";
import { readOverview } from "./overview.ts";
import { podList, replyProbes } from "./reports.ts";
import { usageRoutes } from "./usage-routes.ts";

interface OwnRoutesDeps {
  readonly clock: Clock;
  readonly process: OwnProcess;
}

type ServedEvents = ServedNode["subsystems"]["events"];

/** Default limit of returned decisions. */
const DECISIONS = 1_000;
const MAX_ITEMS = 100_000;
/** Events answered from disk: many more in one answer would hold up the agent. */
const MAX_HISTORY = 5_000;

/** The routes below `/nodelet/v1/`, on the agent's own socket only. */
export function ownRoutes(node: ServedNode, deps: OwnRoutesDeps): readonly ServedRoute[] {
  const { clock, process } = deps;
  const { subsystems } = node;
  const route = (path: string, handler: Handler, longRunning = false): ServedRoute => ({
    pattern: `/nodelet/v1/${path}`,
    methods: ["GET"],
    endpoints: ["local"],
    access: { subresources: ["proxy"] },
    longRunning,
    handler: asStatus(handler),
  });
  return [
    route("overview", (call) => replyJson(call, readOverview(node, process))),
    route("pods", (call) => replyJson(call, podList(shownPods(node, clock)))),
    route("pods/{namespace}/{name}", (call) => replyPod(call, node, clock)),
    route("api-pods/{namespace}/{name}", (call) => replyApiPod(call, node.apiClient)),
    route("events", (call) => replyEvents(call, subsystems.events)),
    route("decisions", (call) => replyDecisions(call, node)),
    route("problems", (call) => replyJson(call, { items: listProblems(node) })),
    route("state-files", (call) => replyJson(call, { items: node.state.problems.get() })),
    route("probes", (call) => replyProbes(call, node)),
    route("devices", (call) =>
      replyJson(call, {
        ...subsystems.devices.report(),
        dynamicResources: subsystems.resourceClaims.report(),
      }),
    ),
    route("cpus", (call) => replyJson(call, subsystems.cpus.report())),
    route("control-plane", (call) => replyControlPlane(call, node, clock)),
    route("volumes", (call) => replyJson(call, subsystems.csi.report())),
    route("record", (call) => replyRecord(call, node, clock), true),
    route("changes", (call) => streamChanges(call, node, deps), true),
    ...cgroupRoutes(node),
    ...usageRoutes(node).map((one) => ({ ...one, handler: asStatus(one.handler) })),
    ...imageRoutes(node),
    ...evictionRoutes(node),
  ];
}

async function replyPod(call: Call, node: ServedNode, clock: Clock): Promise<void> {
  const { namespace = "", name = "" } = call.params;
  const record = findPod(node, namespace, name);
  if (!record) throw new HttpProblem(404, `there is no pod ${namespace}/${name}`);
  await replyJson(call, shownPod(record, node, clock));
}

/** The latest events from memory; with `since` or `history` whatever the disk holds. */
async function replyEvents(call: Call, events: ServedEvents): Promise<void> {
  const { query } = call;
  const filter = eventFilter(query);
  const limit = limitOf(query) ?? MAX_ITEMS;
  const sinceMs = sinceOf(query);
  const fromDisk = sinceMs !== undefined || query.get("history") === "true";
  const items = fromDisk
    ? await events.read({
        filter,
        limit: Math.min(limit, MAX_HISTORY),
        ...(sinceMs === undefined ? {} : { sinceMs }),
      })
    : events.list().filter(filter).slice(-limit);
  const list = { kind: "EventList", apiVersion: "v1", metadata: {}, items };
  await replyJson(call, list);
}

/** Which events are meant by `for` (`pod/namespace/name`, `pod/uid`, `node`, …) and `namespace`. */
function eventFilter(query: URLSearchParams): (event: CoreEvent) => boolean {
  const text = query.get("for") ?? "";
  const namespace = query.get("namespace") ?? "";
  const choice = text === "" ? undefined : parseEventChoice(text);
  if (text !== "" && choice === undefined)
    throw new HttpProblem(400, `for=${text}: write pod/<namespace>/<name>, pod/<uid> or node`);
  return (event) =>
    (choice === undefined || isChosen(event, choice)) &&
    (namespace === "" || event.metadata.namespace === namespace);
}

function sinceOf(query: URLSearchParams): number | undefined {
  const text = query.get("since") ?? "";
  if (text === "") return undefined;
  const since = parseTimestamp(text);
  if (since === undefined)
    throw new HttpProblem(400, `since=${text}: write a time like 2026-01-31T12:00:00Z`);
  return since;
}

async function replyDecisions(call: Call, { subsystems }: ServedNode): Promise<void> {
  const name = call.query.get("pod") ?? call.query.get("name") ?? undefined;
  const uid = call.query.get("uid") ?? undefined;
  const { journal } = subsystems;
  const items = await journal.read({
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    limit: limitOf(call.query) ?? DECISIONS,
  });
  await replyJson(call, { items, lost: journal.lost });
}

function limitOf(query: URLSearchParams): number | undefined {
  const text = query.get("limit");
  if (text === null || text === "") return undefined;
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new HttpProblem(400, `limit=${text}: write a number from 1 to 999999`);
  return Number(text);
}

const REASONS: Readonly<Record<number, string>> = { 400: "BadRequest", 404: "NotFound" };

/** The handler whose refusals are a Kubernetes `Status`. */
function asStatus(handler: Handler): Handler {
  return async (call) => {
    try {
      await handler(call);
    } catch (error) {
      if (!(error instanceof HttpProblem) || call.exchange.status !== undefined) throw error;
      const { status: code, message } = error;
      const reason = REASONS[code] ?? "InternalError";
      const body = {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message,
        reason,
        code,
      };
      const headers = { "content-type": "application/json" };
      await call.exchange.reply(code, headers, `${JSON.stringify(body)}\n`);
    }
  };
}
