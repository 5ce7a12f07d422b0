import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { type Handler, replyText, type ServedRoute } from "../call.ts";
import { type DebugRoutesDeps, debugRoutes, pageRoutes } from "../debug/debug-routes.ts";
import type { Endpoint } from "../route-table.ts";
import type { ServedNode } from "../served-node.ts";
import { replyAllocatedPod, replyAllocatedPods } from "./allocated-pods.ts";
import { replyContainerLogs } from "./container-logs.ts";
import { replyHealth, replyHealthCheck, type ServedCheck } from "./health.ts";
import {
  replyConfig,
  replyMetrics,
  replyPage,
  replyPods,
  replyProbes,
  replyRunningPods,
  replySummary,
} from "./reports.ts";
import {
  type CountTranslated,
  createStreaming,
  replyAttach,
  replyExec,
  replyPortForward,
  replyRun,
} from "./streaming.ts";

interface KubeletRoutesDeps extends DebugRoutesDeps {
  readonly checks: () => readonly ServedCheck[];
  /** The registry behind `/metrics/slis`. */
  readonly sliMetrics: MetricsRegistry;
  readonly countTranslated: CountTranslated;
}

const EVERYWHERE: readonly Endpoint[] = ["secure", "readOnly", "health", "local"];
const OPEN: readonly Endpoint[] = ["secure", "readOnly", "local"];
const GUARDED: readonly Endpoint[] = ["secure", "local"];

/** The routes of a kubelet (server.go). Those that reach into containers can be switched off. */
export function kubeletRoutes(node: ServedNode, deps: KubeletRoutesDeps): readonly ServedRoute[] {
  const routes: readonly ServedRoute[] = [
    ...statusRoutes(node, deps),
    ...(node.config.enableDebuggingHandlers
      ? [...debuggingRoutes(node, deps), ...debugRoutes(node, deps)]
      : switchedOffRoutes()),
    ...pageRoutes(node, deps, () => routes),
  ];
  return routes;
}

function statusRoutes(
  node: ServedNode,
  { checks, sliMetrics }: KubeletRoutesDeps,
): readonly ServedRoute[] {
  const get = (
    pattern: string,
    endpoints: readonly Endpoint[],
    subresources: readonly string[],
    handler: Handler,
  ): ServedRoute => ({ pattern, methods: ["GET"], endpoints, access: { subresources }, handler });
  const health = ["healthz", "proxy"];
  const { stats } = node.subsystems;
  return [
    get("/healthz", EVERYWHERE, health, (call) => replyHealth(call, checks())),
    get("/healthz/{check}", EVERYWHERE, health, (call) => replyHealthCheck(call, checks())),
    get("/pods", OPEN, ["pods", "proxy"], (call) => replyPods(call, node)),
    get("/probes", GUARDED, ["proxy"], (call) => replyProbes(call, node)),
    get("/metrics", OPEN, ["metrics"], (call) => replyMetrics(call, node.metrics)),
    get("/metrics/probes", OPEN, ["metrics"], (call) => replyMetrics(call, node.probeMetrics)),
    get("/metrics/slis", OPEN, ["metrics"], (call) => replyMetrics(call, sliMetrics)),
    get("/metrics/resource", OPEN, ["metrics"], async (call) =>
      replyPage(call, await stats.resourcePage(node.config.showHiddenMetricsForVersion !== "")),
    ),
    get("/metrics/cadvisor", OPEN, ["metrics"], async (call) =>
      replyPage(call, await stats.cadvisorPage()),
    ),
    {
      pattern: "/stats/summary",
      methods: ["GET", "POST"],
      endpoints: OPEN,
      access: { subresources: ["stats"] },
      handler: (call) => replySummary(call, node),
    },
  ];
}

/** To run something is to create, also where a WebSocket opens with GET (kubernetes#83465). */
const RUN_ACCESS = { subresources: ["proxy"], verb: "create" };

function debuggingRoutes(
  node: ServedNode,
  { clock, log, countTranslated }: KubeletRoutesDeps,
): readonly ServedRoute[] {
  const stream = (path: string, handler: Handler): ServedRoute => ({
    pattern: path,
    methods: ["GET", "POST"],
    endpoints: GUARDED,
    access: RUN_ACCESS,
    longRunning: true,
    upgrades: true,
    handler,
  });
  const guarded = { methods: ["GET"], endpoints: GUARDED } as const;
  const run: Omit<ServedRoute, "pattern"> = {
    methods: ["POST"],
    endpoints: GUARDED,
    access: RUN_ACCESS,
    longRunning: true,
    handler: (call) => replyRun(call, node),
  };
  const streaming = createStreaming(node, { log, countTranslated });
  const exec: Handler = (call) => replyExec(call, streaming);
  const attach: Handler = (call) => replyAttach(call, streaming);
  const forward: Handler = (call) => replyPortForward(call, streaming);
  return [
    ...allocatedPodsRoutes(node),
    {
      ...guarded,
      pattern: "/runningpods",
      access: { subresources: ["pods", "proxy"] },
      handler: (call) => replyRunningPods(call, node),
    },
    {
      ...guarded,
      pattern: "/configz",
      access: { subresources: ["configz", "proxy"] },
      handler: (call) => replyConfig(call, node),
    },
    {
      ...guarded,
      pattern: "/containerLogs/{namespace}/{pod}/{container}",
      access: { subresources: ["proxy"] },
      longRunning: true,
      handler: (call) => replyContainerLogs(call, node, clock),
    },
    stream("/exec/{namespace}/{pod}/{container}", exec),
    stream("/exec/{namespace}/{pod}/{uid}/{container}", exec),
    stream("/attach/{namespace}/{pod}/{container}", attach),
    stream("/attach/{namespace}/{pod}/{uid}/{container}", attach),
    stream("/portForward/{namespace}/{pod}", forward),
    stream("/portForward/{namespace}/{pod}/{uid}", forward),
    { ...run, pattern: "/run/{namespace}/{pod}/{container}" },
    { ...run, pattern: "/run/{namespace}/{pod}/{uid}/{container}" },
  ];
}

/** Pods as they were allocated (KEP-1287), behind a gate. */
function allocatedPodsRoutes(node: ServedNode): readonly ServedRoute[] {
  if (!gatesInForce(node.config).isEnabled("KubeletAllocatedPodsEndpoint")) return [];
  const route = (pattern: string, handler: Handler): ServedRoute => ({
    pattern,
    methods: ["GET"],
    endpoints: GUARDED,
    access: { subresources: ["pods", "proxy"] },
    handler,
  });
  return [
    route("/allocatedPods", (call) => replyAllocatedPods(call, node)),
    route("/allocatedPods/{namespace}/{name}", (call) => replyAllocatedPod(call, node)),
    route("/allocatedPods/{namespace}/{name}/{uid}", (call) => replyAllocatedPod(call, node)),
  ];
}

/** In place of what is switched off, with the Go kubelet's answer. */
function switchedOffRoutes(): readonly ServedRoute[] {
  const patterns = ["run", "exec", "attach", "portForward", "containerLogs"].flatMap((name) => [
    `/${name}/{namespace}/{pod}`,
    `/${name}/{namespace}/{pod}/{container}`,
    `/${name}/{namespace}/{pod}/{uid}/{container}`,
  ]);
  const others = [
    "/runningpods",
    "/logs",
    "/logs/{path...}",
    "/debug/pprof",
    "/debug/pprof/{path...}",
  ];
  return [...others, ...patterns].map((pattern) => ({
    pattern,
    methods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    endpoints: GUARDED,
    access: { subresources: ["proxy"] },
    handler: (call) => replyText(call, 405, "Debug endpoints are disabled.\n"),
  }));
}
