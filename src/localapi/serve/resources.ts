/** Answers requests for objects: one verb each. */
import { type Decodable, decodeObject } from "../../api/decode/decode.ts";
import { formatProblem, required } from "../../api/decode/field-problem.ts";
import type { DeleteOptions } from "../../api/generated/types.ts";
import { nodeRestriction } from "../access/restrict-node.ts";
import type { ApiObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { findObject } from "../objects/core.ts";
import { createObject } from "../objects/create.ts";
import type { ObjectRequest } from "../objects/object-request.ts";
import { applyObject, type PatchRequest, patchObject } from "../objects/patch.ts";
import { readNamedObject, readObject } from "../objects/read-body.ts";
import { removeObject } from "../objects/remove.ts";
import { updateObject } from "../objects/update.ts";
import { badRequest, invalidObject, unsupportedMediaType } from "../status-error.ts";
import { contentTypeOf, type ResourceCall, readBody, replyObject } from "./call.ts";
import { type Included, type Showing, showList, showObject } from "./forms.ts";
import { listPage } from "./list.ts";
import { chooseForm } from "./negotiate.ts";
import { isDryRun, objectRequestOf } from "./object-request-of.ts";
import { isOn } from "./request.ts";
import { selectorOf } from "./select.ts";
import { runWatch, startOfWatch } from "./watch.ts";

/** The request for objects of a call. */
export function requestOfCall(
  { exchange, at, query, user }: ResourceCall,
  kind: Kind,
): ObjectRequest {
  const userAgent = exchange.headers["user-agent"] ?? "";
  return objectRequestOf({ kind, at, query, user, userAgent });
}

/** How the answer to a call is shown. Throws `StatusError` NotAcceptable. */
function showingOf({ deps, exchange, query }: ResourceCall, kind: Kind): Showing {
  const requested = query.get("includeObject") ?? "";
  const included: Included =
    requested === "None" || requested === "Object" ? requested : "Metadata";
  const form = chooseForm(exchange.headers["accept"]);
  return { kind, form, included, now: deps.core.clock.wall() };
}

/** Answers with an object, once it is on the disk. */
export async function replyKept(
  call: ResourceCall,
  request: ObjectRequest,
  object: ApiObject,
  status = 200,
): Promise<void> {
  await call.deps.core.store.settled();
  const showing = showingOf(call, request.kind);
  const { encoding } = showing.form;
  await replyObject(call.exchange, status, showObject(object, showing), {
    encoding,
    warnings: request.warnings,
  });
}

/** `get` */
export async function replyGet(call: ResourceCall, kind: Kind): Promise<void> {
  const request = requestOfCall(call, kind);
  await call.deps.core.store.settled();
  await replyKept(call, request, findObject(call.deps.core, request));
}

/** `list` */
export async function replyList(call: ResourceCall, kind: Kind): Promise<void> {
  const { deps, at, query, exchange } = call;
  const { store } = deps.core;
  await store.settled();
  const page = listPage(store, kind, selectorOf(kind, at, query), query);
  const showing = showingOf(call, kind);
  const { encoding } = showing.form;
  await replyObject(exchange, 200, showList(page.objects, showing, page.metadata), { encoding });
}

/** `watch` */
export async function replyWatch(call: ResourceCall, kind: Kind): Promise<void> {
  const { deps, at, query, exchange } = call;
  const { store, clock, random } = deps.core;
  await store.settled();
  const showing = showingOf(call, kind);
  const request = { showing, selects: selectorOf(kind, at, query), query };
  const start = startOfWatch({ store, clock, random }, request);
  const stream = exchange.replyStream(200, {
    "content-type": "application/json",
    "cache-control": "no-cache, private",
  });
  const { signal } = exchange;
  await runWatch({ store, clock, random }, request, start, { stream, signal });
  await stream.end();
}

/** `create` */
export async function replyCreate(call: ResourceCall, kind: Kind): Promise<void> {
  const { core } = call.deps;
  const request = requestOfCall(call, kind);
  const body = readObject(await needBody(call), request);
  const refusal = nodeRestriction(request, body, true);
  if (refusal) throw refusal;
  await replyKept(call, request, createObject(core, request, body), 201);
}

/** `update` */
export async function replyUpdate(call: ResourceCall, kind: Kind): Promise<void> {
  const { core } = call.deps;
  const request = requestOfCall(call, kind);
  const now = readNamedObject(await needBody(call), request);
  const before = findObject(core, request);
  refuseForeignNode(request, before);
  await replyKept(call, request, updateObject(core, request, { before, now }));
}

const PATCH_TYPES: Readonly<Record<string, PatchRequest["type"]>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
};
const APPLY_TYPE = "application/apply-patch+yaml";

/** `patch`, in all four ways */
export async function replyPatch(call: ResourceCall, kind: Kind): Promise<void> {
  const { core } = call.deps;
  const request = requestOfCall(call, kind);
  const contentType = contentTypeOf(call.exchange);
  if (contentType === APPLY_TYPE) return await replyApply(call, request);
  const type = PATCH_TYPES[contentType];
  if (!type) throw unsupportedMediaType([...Object.keys(PATCH_TYPES), APPLY_TYPE]);
  const body = await needBody(call);
  const before = findObject(core, request);
  refuseForeignNode(request, before);
  await replyKept(call, request, patchObject(core, request, before, { type, body }));
}

async function replyApply(call: ResourceCall, request: ObjectRequest): Promise<void> {
  const { query, deps } = call;
  if ((query.get("fieldManager") ?? "") === "")
    throw invalidObject({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      required("fieldManager", "is required for apply patch"),
    ]);
  const body = await needBody(call);
  const { object, isNew } = applyObject(deps.core, request, body, isOn(query, "force"));
  await replyKept(call, request, object, isNew ? 201 : 200);
}

/** `delete` */
export async function replyDelete(call: ResourceCall, kind: Kind): Promise<void> {
  const { core } = call.deps;
  const options = await deleteOptions(call);
  const request = withDryRun(requestOfCall(call, kind), options);
  const before = findObject(core, request);
  refuseForeignNode(request, before);
  const { object, gone } = removeObject(core, request, before, options);
  if (!gone || kind.plural === "pods") return await replyKept(call, request, object);
  await core.store.settled();
  const { name, uid = "" } = object.metadata;
  const { group, plural } = kind;
  const details = { name, ...(group === "" ? {} : { group }), kind: plural, uid };
  await replyObject(call.exchange, 200, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details,
  });
}

/** `deletecollection` */
export async function replyDeleteCollection(call: ResourceCall, kind: Kind): Promise<void> {
  const { deps, at, query, exchange } = call;
  const { core } = deps;
  const options = await deleteOptions(call);
  const request = withDryRun(requestOfCall(call, kind), options);
  const selects = selectorOf(kind, at, query);
  const found = core.store.list(kind.collection).filter(selects);
  const removed = found.map((before) => {
    const { name, namespace = "" } = before.metadata;
    return removeObject(core, { ...request, name, namespace }, before, options).object;
  });
  await core.store.settled();
  const showing = showingOf(call, kind);
  const metadata = { resourceVersion: String(core.store.version) };
  await replyObject(exchange, 200, showList(removed, showing, metadata));
}

/** The options of a deletion: from the body, or from the query. Throws `StatusError` BadRequest. */
export async function deleteOptions(call: ResourceCall): Promise<DeleteOptions> {
  const body = await readBody(call);
  const { query } = call;
  const grace = query.get("gracePeriodSeconds");
  const json = body ?? {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(query.has("dryRun") ? { dryRun: query.getAll("dryRun") } : {}),
  };
  return decoded("DeleteOptions", json);
}

/** The body as what a request carries beside objects. Throws `StatusError` BadRequest for wrong values. */
export async function needDecoded<K extends keyof Decodable>(
  call: ResourceCall,
  type: K,
): Promise<Decodable[K]> {
  return decoded(type, await needBody(call));
}

function decoded<K extends keyof Decodable>(type: K, json: unknown): Decodable[K] {
  const { value, problems } = decodeObject(type, json);
  const [first] = problems.filter(({ kind }) => kind !== "unknownField");
  if (first) throw badRequest(formatProblem(first));
  return value;
}

function withDryRun(request: ObjectRequest, { dryRun = [] }: DeleteOptions): ObjectRequest {
  return isDryRun(dryRun) ? { ...request, dryRun: true } : request;
}

/** The body as JSON. Throws `StatusError` BadRequest when there is none. */
export async function needBody(call: ResourceCall): Promise<unknown> {
  const body = await readBody(call);
  if (body === undefined) throw badRequest("the request has no body");
  return body;
}

function refuseForeignNode(request: ObjectRequest, before: ApiObject): void {
  const refusal = nodeRestriction(request, before, false);
  if (refusal) throw refusal;
}
