import {
  type FieldRequirement,
  type LabelRequirements,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  type SelectorReading,
} from "../../api/text/labels.ts";
import type { NodeMetrics, PodMetrics } from "../../subsystems/stats/stats.ts";
import { type Call, type Handler, replyJson, type ServedRoute } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { ServedNode } from "../served-node.ts";

const GROUP = "metrics.k8s.io";
const VERSION = "v1beta1";
const GROUP_VERSION = `${GROUP}/${VERSION}`;

/**
 * `metrics.k8s.io` as metrics-server serves it, for this node, on the agent's own socket: whoever stands in
 * for the API server passes it on, and `kubectl top` shows it.
 */
export function usageRoutes(node: ServedNode): readonly ServedRoute[] {
  const get = (path: string, handler: Handler): ServedRoute => ({
    pattern: `/apis/${GROUP}${path}`,
    methods: ["GET"],
    endpoints: ["local"],
    access: { subresources: ["proxy"] },
    handler,
  });
  const pods = (call: Call) => replyPods(call, node);
  return [
    get("", (call) => replyJson(call, DISCOVERY.group)),
    get(`/${VERSION}`, (call) => replyJson(call, DISCOVERY.resources)),
    get(`/${VERSION}/nodes`, (call) => replyNodes(call, node)),
    get(`/${VERSION}/nodes/{name}`, (call) => replyNode(call, node)),
    get(`/${VERSION}/pods`, pods),
    get(`/${VERSION}/namespaces/{namespace}/pods`, pods),
    get(`/${VERSION}/namespaces/{namespace}/pods/{name}`, (call) => replyPod(call, node)),
  ];
}

const served = { groupVersion: GROUP_VERSION, version: VERSION };
const resource = (name: string, kind: string, namespaced: boolean) => ({
  name,
  singularName: "",
  namespaced,
  kind,
  verbs: ["get", "list"],
});
const DISCOVERY = {
  group: {
    kind: "APIGroup",
    apiVersion: "v1",
    name: GROUP,
    versions: [served],
    preferredVersion: served,
  },
  resources: {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: GROUP_VERSION,
    resources: [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
  },
} as const;

async function replyNodes(call: Call, { subsystems }: ServedNode): Promise<void> {
  const { node } = await subsystems.stats.usage(call.signal);
  await replyList(call, "NodeMetricsList", [node].filter(chooser(call.query)));
}

async function replyNode(call: Call, { subsystems }: ServedNode): Promise<void> {
  const { node } = await subsystems.stats.usage(call.signal);
  const { name = "" } = call.params;
  if (node.metadata.name !== name) throw notFound("nodes", name);
  await replyJson(call, node);
}

async function replyPods(call: Call, { subsystems }: ServedNode): Promise<void> {
  const { namespace } = call.params;
  const { pods } = await subsystems.stats.usage(call.signal);
  const items = pods
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .filter(chooser(call.query));
  await replyList(call, "PodMetricsList", items);
}

async function replyPod(call: Call, { subsystems }: ServedNode): Promise<void> {
  const { namespace = "", name = "" } = call.params;
  const { pods } = await subsystems.stats.usage(call.signal);
  const found = pods.find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  );
  if (!found) throw notFound("pods", `${namespace}/${name}`);
  await replyJson(call, found);
}

function replyList(
  call: Call,
  kind: string,
  items: readonly (NodeMetrics | PodMetrics)[],
): Promise<void> {
  return replyJson(call, { kind, apiVersion: GROUP_VERSION, metadata: {}, items });
}

/** In metrics-server's words. */
function notFound(plural: string, name: string): HttpProblem {
  return new HttpProblem(404, `${plural}.${GROUP} ${JSON.stringify(name)} not found`);
}

/** Filter by `labelSelector` and `fieldSelector`. Throws `HttpProblem` for invalid ones. */
function chooser(query: URLSearchParams): (item: NodeMetrics | PodMetrics) => boolean {
  const labels: LabelRequirements = selected(query, "labelSelector", parseLabelSelector) ?? [];
  const fields: readonly FieldRequirement[] =
    selected(query, "fieldSelector", parseFieldSelector) ?? [];
  return ({ metadata }) => {
    const own = "labels" in metadata ? metadata.labels : {};
    const names = new Map([
      ["metadata.name", metadata.name],
      ["metadata.namespace", "namespace" in metadata ? metadata.namespace : ""],
    ]);
    return matchesLabels(labels, own) && matchesFields(fields, (field) => names.get(field));
  };
}

function selected<T>(
  query: URLSearchParams,
  name: string,
  parse: (text: string) => SelectorReading<T>,
): T | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const reading = parse(text);
  if (reading.kind === "selector") return reading.selector;
  throw new HttpProblem(400, `${name}: ${reading.message}`);
}
