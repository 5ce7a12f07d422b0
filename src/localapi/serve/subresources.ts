/** Answers requests for parts of objects, and for what can be done with them. */
import { decodeObject } from "../../api/decode/decode.ts";
import type { Binding, Pod, PodCondition, TokenRequest } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import { issueToken } from "../access/tokens.ts";
import { type ApiObject, treeOf } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { NAMESPACE_KIND, POD_KIND, SERVICE_ACCOUNT_KIND } from "../kinds/catalog.ts";
import { findObject, type ObjectsCore } from "../objects/core.ts";
import type { ObjectRequest } from "../objects/object-request.ts";
import { readNamedObject } from "../objects/read-body.ts";
import { removeObject } from "../objects/remove.ts";
import { updateObject } from "../objects/update.ts";
import { badRequest, conflict, methodNotAllowed, objectNotFound } from "../status-error.ts";
import { type ResourceCall, replyObject } from "./call.ts";
import { replyLog, replyNodeProxy, replyStreaming } from "./connect.ts";
import {
  needBody,
  needDecoded,
  replyGet,
  replyKept,
  replyPatch,
  replyUpdate,
  requestOfCall,
} from "./resources.ts";

type Handler = (call: ResourceCall, kind: Kind) => Promise<void>;

/** Parts that are read and written like the object itself. */
const PARTS: ReadonlySet<string> = new Set(["status", "approval", "ephemeralcontainers", "resize"]);

const ACTIONS: Readonly<Record<string, Handler>> = {
  "pods/attach": replyStreaming,
  "pods/binding": (call) => replyBinding(call, call.at.name),
  "pods/eviction": replyEviction,
  "pods/exec": replyStreaming,
  "pods/log": replyLog,
  "pods/portforward": replyStreaming,
  "namespaces/finalize": replyFinalize,
  "nodes/proxy": replyNodeProxy,
  "serviceaccounts/token": replyToken,
};

/** Answers a request for a subresource that is offered, with a verb that it has. */
export async function replySubresource(call: ResourceCall, kind: Kind): Promise<void> {
  const { at, exchange } = call;
  const action = ACTIONS[`${kind.plural}/${at.subresource}`];
  if (action) return await action(call, kind);
  if (!PARTS.has(at.subresource)) throw methodNotAllowed();
  switch (exchange.method) {
    case "GET":
      return await replyGet(call, kind);
    case "PUT":
      if (at.subresource === "ephemeralcontainers") return await replyEphemeral(call);
      return await replyUpdate(call, kind);
    case "PATCH":
      return await replyPatch(call, kind);
    default:
      throw methodNotAllowed();
  }
}

/**
 * `pods/ephemeralcontainers`. Clients before 1.23 send the containers alone, as a kind of its own that servers
 * no longer have; they are understood all the same.
 */
async function replyEphemeral(call: ResourceCall): Promise<void> {
  const { core } = call.deps;
  const request = requestOfCall(call, POD_KIND);
  const body = treeOf(await needBody(call));
  const before = findObject(core, request);
  const isOld = body["kind"] === "EphemeralContainers";
  const { ephemeralContainers } = body;
  const requested = isOld
    ? { ...before, spec: { ...treeOf(before["spec"]), ephemeralContainers } }
    : body;
  const object = updateObject(core, request, { before, now: readNamedObject(requested, request) });
  if (!isOld) return await replyKept(call, request, object);
  await core.store.settled();
  await replyObject(call.exchange, 200, { ...body, metadata: object.metadata });
}

/** `pods/binding` and `bindings`: gives a pod to a node. */
export async function replyBinding(call: ResourceCall, podName: string): Promise<void> {
  const { deps, exchange, at } = call;
  const { value } = decodeObject("Binding", await needBody(call));
  const name = podName === "" ? (value.metadata?.name ?? "") : podName;
  const request = { ...requestOfCall({ ...call, at: { ...at, name } }, POD_KIND), subresource: "" };
  bindPod(deps.core, request, value);
  await deps.core.store.settled();
  await replyObject(exchange, 201, success());
}

/** Binds a pod to a node. Throws `StatusError`. Await `store.settled()` before replying. */
export function bindPod(core: ObjectsCore, request: ObjectRequest, binding: Binding): void {
  const { name } = request;
  const before = findObject(core, request);
  const { spec, metadata } = before as unknown as Pod;
  const of = { group: "", plural: "pods/binding" };
  const { name: node = "", kind: target = "Node" } = binding.target;
  if (target !== "Node" || node === "") throw badRequest("a binding requires the name of a node");
  if (metadata?.deletionTimestamp !== undefined)
    throw conflict(of, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if ((spec?.nodeName ?? "") !== "")
    throw conflict(of, name, `pod ${name} is already assigned to node "${spec?.nodeName}"`);
  const bound: ApiObject = {
    ...withCondition(core, before, { type: "PodScheduled" }),
    spec: { ...spec, nodeName: node },
  };
  if (!request.dryRun) core.store.put(POD_KIND.collection, bound);
}

/** The pod with a condition that is true from now on. */
function withCondition(
  { clock }: ObjectsCore,
  pod: ApiObject,
  condition: Pick<PodCondition, "type" | "reason" | "message">,
): ApiObject {
  const { status } = pod as unknown as Pod;
  const others = (status?.conditions ?? []).filter(({ type }) => type !== condition.type);
  const times = { lastProbeTime: null, lastTransitionTime: rfc3339(clock.wall()) };
  const conditions = [...others, { ...condition, status: "True", ...times }];
  return { ...pod, status: { ...status, conditions } };
}

/** Why a pod was deleted, as the API server's eviction writes it into the status. */
const EVICTED = {
  type: "DisruptionTarget",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
};

/** `pods/eviction`: a deletion that disruption budgets may block; there are none here. */
async function replyEviction(call: ResourceCall): Promise<void> {
  const { deps, exchange } = call;
  const value = await needDecoded(call, "Eviction");
  const request = { ...requestOfCall(call, POD_KIND), subresource: "" };
  const options = value.deleteOptions ?? {};
  const dryRun = request.dryRun || (options.dryRun ?? []).includes("All");
  const evicted = withCondition(deps.core, findObject(deps.core, request), EVICTED);
  removeObject(deps.core, { ...request, dryRun }, evicted, options);
  await deps.core.store.settled();
  await replyObject(exchange, 201, success());
}

/** `serviceaccounts/token` */
async function replyToken(call: ResourceCall): Promise<void> {
  const { deps, at, exchange } = call;
  const key = `${at.namespace}/${at.name}`;
  const account = deps.core.store.get(SERVICE_ACCOUNT_KIND.collection, key);
  if (!account) throw objectNotFound(SERVICE_ACCOUNT_KIND, at.name);
  const value = await needDecoded(call, "TokenRequest");
  const request: TokenRequest = {
    ...value,
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
  };
  await replyObject(exchange, 201, issueToken(deps.tokens, account, request));
}

/** `namespaces/finalize`: removes finalizers of a namespace. */
async function replyFinalize(call: ResourceCall): Promise<void> {
  const request = requestOfCall(call, NAMESPACE_KIND);
  const { core } = call.deps;
  const body = readNamedObject(await needBody(call), request);
  const before = findObject(core, request);
  const object = finalizeNamespace(core, before, treeOf(body["spec"])["finalizers"]);
  await replyKept(call, request, object);
}

/** Sets the finalizers of a namespace; one that was deleted and has none left is gone. */
export function finalizeNamespace(
  { store }: ObjectsCore,
  before: ApiObject,
  finalizers: unknown,
): ApiObject {
  const left = Array.isArray(finalizers) ? finalizers : [];
  const { finalizers: _, ...spec } = treeOf(before["spec"]);
  const now = { ...before, spec: left.length === 0 ? spec : { ...spec, finalizers: left } };
  const { deletionTimestamp, finalizers: others = [] } = before.metadata;
  const isOver = deletionTimestamp !== undefined && left.length === 0 && others.length === 0;
  return isOver
    ? store.remove(NAMESPACE_KIND.collection, now)
    : store.put(NAMESPACE_KIND.collection, now);
}

function success(): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
}
