import type { StatusCause } from "../../api/generated/types.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree, mergePatch } from "../../kit/json.ts";
import { type ApiObject, type ObjectDraft, without } from "../api-object.ts";
import { applyJsonPatch, PatchFault } from "../patch/json-patch.ts";
import { type ApplyConflict, applyConfiguration, shownPath } from "../patch/managed-fields.ts";
import { applyStrategicPatch } from "../patch/strategic-merge.ts";
import { type SchemaShape, structShape } from "../schema/shapes.ts";
import { badRequest, StatusError } from "../status-error.ts";
import type { ObjectsCore } from "./core.ts";
import { shown } from "./core.ts";
import { createObject, typeOf, writerOf } from "./create.ts";
import { withPathName } from "./metadata.ts";
import { type ObjectRequest, storeKeyOf } from "./object-request.ts";
import { readNamedObject, readObject } from "./read-body.ts";
import { updateObject } from "./update.ts";

/** A patch in one of the ways the API knows. */
export interface PatchRequest {
  readonly type: "json" | "merge" | "strategic";
  readonly body: unknown;
}

/** Patches an object. Throws `StatusError`. Await `store.settled()` before replying. */
export function patchObject(
  core: ObjectsCore,
  request: ObjectRequest,
  before: ApiObject,
  patch: PatchRequest,
): ApiObject {
  const { kind } = request;
  const patched = patchedJson(shown(kind, before), patch, structShape(kind.type));
  return updateObject(core, request, { before, now: readNamedObject(patched, request) });
}

function patchedJson(value: ApiObject, { type, body }: PatchRequest, shape: SchemaShape): unknown {
  try {
    switch (type) {
      case "json":
        return applyJsonPatch(value, body);
      case "merge":
        return mergePatch(value, needTree(body));
      case "strategic":
        return applyStrategicPatch(value, needTree(body), shape);
    }
  } catch (error) {
    if (!(error instanceof PatchFault)) throw error;
    if (type === "json")
      throw new StatusError(
        422,
        "Invalid",
        `the server rejected our request due to an error in our request: ${error.message}`,
        {},
      );
    throw badRequest(error.message);
  }
}

function needTree(body: unknown): Tree {
  if (isTree(body)) return body;
  throw badRequest("the patch is not an object");
}

/** The part of an applied configuration that belongs to the requested subresource. */
function appliedPart(
  configuration: ObjectDraft,
  { kind, subresource }: ObjectRequest,
): ObjectDraft {
  const { apiVersion, metadata, status } = configuration;
  const common = { apiVersion, kind: configuration.kind, metadata };
  if (subresource !== "status")
    return kind.hasStatus ? { ...without(configuration, "status"), ...common } : configuration;
  return { ...common, ...(status === undefined ? {} : { status }) };
}

/**
 * Server-side apply; makes the object when there is none. Throws `StatusError`, Conflict for fields of
 * others. Await `store.settled()` before replying.
 */
export function applyObject(
  core: ObjectsCore,
  request: ObjectRequest,
  body: unknown,
  force: boolean,
): { readonly object: ApiObject; readonly isNew: boolean } {
  const { kind } = request;
  if (kind.view) throw badRequest("events are applied through the core group");
  const read = readObject(needTree(body), request);
  if ((read.metadata.managedFields ?? []).length > 0)
    throw badRequest("metadata.managedFields must be nil");
  const configuration = appliedPart(read, request);
  const before = core.store.get(kind.collection, storeKeyOf(request));
  const shape = structShape(typeOf(request));
  const by = { writer: writerOf(core, request), force };
  if (!before) {
    const made = createObject(
      core,
      { ...request, dryRun: true },
      withPathName(configuration, request),
    );
    const bare = { ...made, metadata: { ...made.metadata, managedFields: [] } };
    const applied = applyConfiguration(bare, configuration, by, shape);
    if (applied.kind === "conflicts") throw conflictOf(applied.conflicts, request);
    const object = { ...made, metadata: { ...made.metadata, ...owners(applied.object) } };
    return {
      object: request.dryRun ? object : core.store.put(kind.collection, object),
      isNew: true,
    };
  }
  const applied = applyConfiguration(before, configuration, by, shape);
  if (applied.kind === "conflicts") throw conflictOf(applied.conflicts, request);
  const { managedFields: entries = [] } = applied.object.metadata;
  const now = readNamedObject(applied.object, { ...request, fieldValidation: "Ignore" });
  const asked = configuration.metadata.resourceVersion;
  const versioned = asked === undefined ? {} : { resourceVersion: asked };
  const wanted = { ...now, metadata: { ...now.metadata, ...versioned, managedFields: entries } };
  return {
    object: updateObject(core, request, { before, now: wanted }, { owners: "decided" }),
    isNew: false,
  };
}

function owners({ metadata }: ApiObject) {
  return { managedFields: metadata.managedFields ?? [] };
}

/** As the API server words it (structured-merge-diff, fieldmanager). */
function conflictOf(
  conflicts: readonly ApplyConflict[],
  { kind, name }: ObjectRequest,
): StatusError {
  const causes: StatusCause[] = conflicts.map(({ path, owner }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with "${owner.manager}"${owner.operation === "Update" ? ` using ${owner.apiVersion}` : ""}`,
    field: shownPath(path),
  }));
  const [first] = causes;
  const several = `conflicts with ${[...new Set(conflicts.map(({ owner }) => `"${owner.manager}"`))].join(", ")}`;
  const what =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${first?.message}: ${first?.field}`
      : `Apply failed with ${causes.length} conflicts: ${several}:\n${causes.map(({ field }) => `- ${field}`).join("\n")}`;
  return new StatusError(409, "Conflict", what, { name, kind: kind.plural, causes });
}
