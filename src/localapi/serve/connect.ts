/** Logs of containers and connections into them: the node's agent answers, here it is only found. */
import type { Pod } from "../../api/generated/types.ts";
import { allContainers } from "../../api/pod/pod.ts";
import { isOutside } from "../../kit/errors.ts";
import { type Stored, storedAs } from "../api-object.ts";
import { POD_KIND } from "../kinds/catalog.ts";
import {
  badRequest,
  invalidObject,
  methodNotAllowed,
  objectNotFound,
  StatusError,
  unavailable,
} from "../status-error.ts";
import type { ResourceCall } from "./call.ts";
import { logOptionProblems } from "./log-options.ts";
import { isOn } from "./request.ts";

const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";
const LOG_OPTIONS = { group: "", kind: "PodLogOptions" } as const;
/** Connections into containers may be quiet for as long as the agent lets them. */
const NEVER_IDLE = 0;

/** `pods/exec`, `pods/attach`, `pods/portforward` */
export async function replyStreaming(call: ResourceCall): Promise<void> {
  const { at, exchange } = call;
  if (exchange.upgrade === undefined) throw badRequest("Upgrade request required");
  const pod = runningPod(call);
  const own = [encodeURIComponent(at.namespace), encodeURIComponent(at.name)];
  if (at.subresource === "portforward") {
    await forward(call, `/portForward/${own.join("/")}?${portsOf(call.query)}`);
    return;
  }
  const container = encodeURIComponent(chosenContainer(pod, call.query));
  await forward(call, `/${at.subresource}/${own.join("/")}/${container}?${streamsOf(call.query)}`);
}

/** `pods/log` */
export async function replyLog(call: ResourceCall): Promise<void> {
  const { at, query } = call;
  const pod = runningPod(call);
  const container = chosenContainer(pod, query);
  const problems = logOptionProblems(query);
  if (problems.length > 0) throw invalidObject(LOG_OPTIONS, at.name, problems);
  const passed = new URLSearchParams(query);
  for (const name of ["container", "insecureSkipTLSVerifyBackend", "timeout"]) passed.delete(name);
  const path = [at.namespace, at.name, container].map(encodeURIComponent).join("/");
  await forward(call, `/containerLogs/${path}?${passed}`);
}

/** `nodes/proxy`: the agent's own pages. */
export async function replyNodeProxy(call: ResourceCall): Promise<void> {
  const { deps, at, query } = call;
  if (!deps.core.store.get("nodes", `/${at.name}`))
    throw objectNotFound({ group: "", plural: "nodes" }, at.name);
  const text = query.toString();
  await forward(call, `/${at.rest ?? ""}${text === "" ? "" : `?${text}`}`);
}

/** `metrics.k8s.io`: what `kubectl top` shows; the agent measures it. */
export async function replyUsage(call: ResourceCall): Promise<void> {
  const { at, query, exchange } = call;
  if (exchange.method !== "GET" || at.subresource !== "") throw methodNotAllowed();
  const parts = [
    ...["apis", at.group, at.version],
    ...(at.namespace === "" ? [] : ["namespaces", at.namespace]),
    at.plural,
    ...(at.name === "" ? [] : [at.name]),
  ];
  const text = query.toString();
  await forward(
    call,
    `/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`,
  );
}

async function forward({ deps, exchange }: ResourceCall, path: string): Promise<void> {
  const { agentSocket: socketPath } = deps;
  if (socketPath === undefined) throw unavailable("no agent serves this node");
  const refusal = (status: number, text: string) => ({
    status,
    contentType: "application/json",
    body: JSON.stringify(agentError(status, text.trim()).status),
  });
  try {
    await exchange.forward({ socketPath, path, refusal }, NEVER_IDLE);
  } catch (error) {
    if (!isOutside(error, "unavailable") || exchange.status !== undefined) throw error;
    throw unavailable(`the node's agent does not answer: ${error.message}`);
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  429: "TooManyRequests",
  503: "ServiceUnavailable",
};

function agentError(status: number, text: string): StatusError {
  return new StatusError(
    status,
    REASONS[status] ?? "InternalError",
    text === "" ? "unknown" : text,
  );
}

function runningPod({ deps, at }: ResourceCall): Stored<Pod> {
  const found = deps.core.store.get(POD_KIND.collection, `${at.namespace}/${at.name}`);
  if (!found) throw objectNotFound(POD_KIND, at.name);
  const pod = storedAs<Pod>(found);
  if ((pod.spec?.nodeName ?? "") === "")
    throw badRequest(`pod ${at.name} does not have a host assigned`);
  return pod;
}

/** The container that is meant: named, marked as the default, or the only one. */
function chosenContainer(pod: Stored<Pod>, query: URLSearchParams): string {
  const requested = query.get("container") || "";
  const { name } = pod.metadata;
  const all = allContainers(pod).map(({ container }) => container.name);
  if (requested !== "") {
    if (all.includes(requested)) return requested;
    throw badRequest(`container ${requested} is not valid for pod ${name}`);
  }
  const main = (pod.spec?.containers ?? []).map((container) => container.name);
  const marked = pod.metadata.annotations?.[DEFAULT_CONTAINER];
  if (marked !== undefined && all.includes(marked)) return marked;
  const [only, ...others] = main;
  if (only !== undefined && others.length === 0) return only;
  const init = (pod.spec?.initContainers ?? []).map((container) => container.name);
  const hint = init.length === 0 ? "" : ` or one of the init containers: [${init.join(" ")}]`;
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${main.join(" ")}]${hint}`,
  );
}

/** Names of the streams as the API has them, and as the agent has them. */
const STREAMS = [
  ["stdin", "input"],
  ["stdout", "output"],
  ["stderr", "error"],
  ["tty", "tty"],
] as const;

function streamsOf(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams();
  for (const word of query.getAll("command")) passed.append("command", word);
  for (const [name, own] of STREAMS) if (isOn(query, name)) passed.set(own, "1");
  return passed;
}

function portsOf(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams();
  for (const port of query.getAll("ports")) passed.append("port", port);
  return passed;
}
