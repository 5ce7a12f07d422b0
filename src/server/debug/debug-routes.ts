import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { Cell } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Serving } from "../../outside/serving.ts";
import { type Call, type Handler, replyText, type ServedRoute } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Endpoint } from "../route-table.ts";
import type { ServedNode } from "../served-node.ts";
import { replyNodeLogs } from "./node-logs.ts";
import { replyProfile, replyProfileIndex } from "./profiles.ts";
import {
  flagsObject,
  flagsText,
  type PageForm,
  pageFormOf,
  type StatusPage,
  statusObject,
  statusText,
} from "./z-pages.ts";

export interface DebugRoutesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly serving: Serving;
  /** Values of all flags, by name. */
  readonly flags: Readonly<Record<string, string>>;
  /** Folder of the node's logs. */
  readonly nodeLogFolder: string;
}

const GUARDED: readonly Endpoint[] = ["secure", "local"];
const EVERY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const PROXY = { subresources: ["proxy"] };
const LOGS = { subresources: ["log"] };
/** Longest value of `/debug/flags/v`. */
const MAX_VERBOSITY_BYTES = 64;
const MAX_VERBOSITY = 2 ** 31 - 1;

/** `/logs/`, `/debug/pprof/` and `/debug/flags/v`, each where the configuration serves it (server.go). */
export function debugRoutes(node: ServedNode, deps: DebugRoutesDeps): readonly ServedRoute[] {
  return [...logRoutes(node, deps), ...profileRoutes(node, deps), ...flagRoutes(node, deps)];
}

function logRoutes(
  { config }: ServedNode,
  { serving, nodeLogFolder }: DebugRoutesDeps,
): readonly ServedRoute[] {
  const patterns = ["/logs", "/logs/{path...}"];
  if (!config.enableSystemLogHandler)
    return patterns.map((pattern) => disabled(pattern, LOGS, "Logs endpoint is disabled.\n"));
  const { openFolder, streamProgram } = serving;
  const gates = gatesInForce(config);
  const queries = config.enableSystemLogQuery && gates.isEnabled("NodeLogQuery");
  const logs = { openFolder, streamProgram, queries, folder: nodeLogFolder };
  return patterns.map((pattern) => ({
    pattern,
    methods: ["GET"],
    endpoints: GUARDED,
    access: LOGS,
    longRunning: true,
    handler: (call) => replyNodeLogs(call, logs),
  }));
}

function profileRoutes(
  { config }: ServedNode,
  { serving }: DebugRoutesDeps,
): readonly ServedRoute[] {
  const index = "/debug/pprof";
  const one = "/debug/pprof/{path...}";
  if (!config.enableProfilingHandler)
    return [index, one].map((pattern) =>
      disabled(pattern, PROXY, "profiling endpoint is disabled.\n"),
    );
  const profiles = { profiler: serving.profiler, commandLine: serving.process.commandLine };
  const get = { methods: ["GET"], endpoints: GUARDED, access: PROXY } as const;
  return [
    { ...get, pattern: index, handler: replyProfileIndex },
    { ...get, pattern: one, longRunning: true, handler: (call) => replyProfile(call, profiles) },
  ];
}

function flagRoutes(
  { config }: ServedNode,
  { serving, log }: DebugRoutesDeps,
): readonly ServedRoute[] {
  const pattern = "/debug/flags/v";
  if (!config.enableDebugFlagsHandler)
    return [disabled(pattern, PROXY, "flags endpoint is disabled.\n")];
  const { verbosity } = serving;
  const handler: Handler = (call) => replyVerbosity(call, verbosity, log);
  return [{ pattern, methods: EVERY_METHOD, endpoints: GUARDED, access: PROXY, handler }];
}

/** A route in place of one that is switched off, with the Go kubelet's answer. */
function disabled(pattern: string, access: ServedRoute["access"], text: string): ServedRoute {
  const handler: Handler = (call) => replyText(call, 405, text);
  return { pattern, methods: EVERY_METHOD, endpoints: GUARDED, access, handler };
}

/** `PUT /debug/flags/v` sets klog's verbosity until the agent ends (StringFlagPutHandler of k8s.io/apiserver). */
async function replyVerbosity(
  call: Call,
  verbosity: Cell<number> | undefined,
  log: Log,
): Promise<void> {
  if (call.exchange.method !== "PUT") throw new HttpProblem(406, "unsupported http method\n");
  if (!verbosity) throw new HttpProblem(400, "the log of this process has no verbosity\n");
  const body = await call.exchange.readBody(MAX_VERBOSITY_BYTES);
  const text = new TextDecoder().decode(body).trim();
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value > MAX_VERBOSITY)
    throw new HttpProblem(
      400,
      `failed set klog.logging.verbosity ${text}: write a number from 0 to ${MAX_VERBOSITY}\n`,
    );
  const before = verbosity.get();
  verbosity.set(value);
  log.info("changed the log verbosity", { before, verbosity: value, user: call.identity.name });
  await replyText(call, 200, `successfully set klog.logging.verbosity to ${text}`);
}

/** `/statusz` and `/flagz`, each where its gate is on. They may be read with `statusz` and `configz` alone (auth.go). */
export function pageRoutes(
  node: ServedNode,
  deps: Omit<DebugRoutesDeps, "log">,
  served: () => readonly ServedRoute[],
): readonly ServedRoute[] {
  const gates = gatesInForce(node.config);
  const get = (pattern: string, subresource: string, handler: Handler): ServedRoute => ({
    pattern,
    methods: ["GET"],
    endpoints: GUARDED,
    access: { subresources: [subresource] },
    handler,
  });
  const status: Handler = (call) =>
    replyForm(call, "Statusz", {
      text: () => statusText(statusPage(node, deps, served())),
      object: (version) => statusObject(statusPage(node, deps, served()), version),
    });
  const flags: Handler = (call) =>
    replyForm(call, "Flagz", {
      text: () => flagsText(deps.flags),
      object: (version) => flagsObject(deps.flags, version),
    });
  return [
    ...(gates.isEnabled("ComponentStatusz") ? [get("/statusz", "statusz", status)] : []),
    ...(gates.isEnabled("ComponentFlagz") ? [get("/flagz", "configz", flags)] : []),
  ];
}

function statusPage(
  { startedAt, versions }: ServedNode,
  { clock, serving }: Omit<DebugRoutesDeps, "log">,
  routes: readonly ServedRoute[],
): StatusPage {
  const paths = routes.map(({ pattern }) => pattern).filter((pattern) => !pattern.includes("{"));
  return {
    startedAt,
    now: clock.wall(),
    engineVersion: serving.process.engine,
    binaryVersion: versions.kubernetes.replace(/^v/, ""),
    paths: [...new Set(paths)].sort(),
  };
}

interface PageForms {
  text(): string;
  object(version: string): object;
}

async function replyForm(call: Call, kind: "Statusz" | "Flagz", forms: PageForms): Promise<void> {
  const form: PageForm = pageFormOf(call.exchange.headers["accept"], kind);
  switch (form.kind) {
    case "text":
      return await replyText(call, 200, forms.text());
    case "object": {
      const body = `${JSON.stringify(forms.object(form.version))}\n`;
      return await call.exchange.reply(200, { "content-type": "application/json" }, body);
    }
    case "none":
      throw new HttpProblem(
        406,
        "only text/plain and application/json of config.k8s.io are served\n",
      );
    default:
      return form satisfies never;
  }
}
