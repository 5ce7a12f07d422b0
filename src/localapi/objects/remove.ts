import type { DeleteOptions } from "../../api/generated/types.ts";
import { parseTimestamp, rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { ApiObject } from "../api-object.ts";
import { NAMESPACE_KIND } from "../kinds/catalog.ts";
import { conflict, forbiddenRequest } from "../status-error.ts";
import type { ObjectsCore } from "./core.ts";
import type { ObjectRequest } from "./object-request.ts";

/** Outcome of a deletion. */
export interface Removal {
  readonly object: ApiObject;
  /** Whether it is gone; else it is on its way. */
  readonly gone: boolean;
}

/** Namespaces that are always there. */
const LASTING_NAMESPACES: readonly string[] = ["default", "kube-system", "kube-public"];

/**
 * Deletes an object: at once, or in two steps where it has a grace period or finalizers. Throws
 * `StatusError`. Await `store.settled()` before replying.
 */
export function removeObject(
  core: ObjectsCore,
  request: ObjectRequest,
  before: ApiObject,
  options: DeleteOptions,
): Removal {
  const { kind, name, dryRun } = request;
  checkPreconditions(request, before, options);
  if (kind === NAMESPACE_KIND && LASTING_NAMESPACES.includes(name))
    throw forbiddenRequest(kind, name, "this namespace may not be deleted");
  const asked = options.gracePeriodSeconds;
  const seconds = kind.rules.graceSeconds?.(before, asked) ?? 0;
  const held = (before.metadata.finalizers ?? []).length > 0 || hasSpecFinalizers(before);
  if (seconds === 0 && !held) {
    if (dryRun) return { object: before, gone: true };
    const last = { ...before, metadata: { ...before.metadata, ...endOf(core, before, 0) } };
    return { object: core.store.remove(kind.collection, last), gone: true };
  }
  const { deletionTimestamp, deletionGracePeriodSeconds: left = 0 } = before.metadata;
  // Time can be taken from what ends already, but not given to it.
  if (deletionTimestamp !== undefined && seconds >= left) return { object: before, gone: false };
  const going = ending(before, endOf(core, before, seconds));
  if (dryRun) return { object: going, gone: false };
  return { object: core.store.put(kind.collection, going), gone: false };
}

function ending(before: ApiObject, end: ReturnType<typeof endOf>): ApiObject {
  const status = before["status"];
  const isNamespace = before.kind === NAMESPACE_KIND.kind;
  const { generation } = before.metadata;
  return {
    ...before,
    metadata: {
      ...before.metadata,
      ...end,
      ...(generation === undefined ? {} : { generation: generation + 1 }),
    },
    ...(isNamespace ? { status: { ...(status as object), phase: "Terminating" } } : {}),
  };
}

/** The timestamp is the end of the grace period. */
function endOf({ clock }: ObjectsCore, { metadata }: ApiObject, seconds: number) {
  const began =
    metadata.deletionTimestamp === undefined
      ? clock.wall()
      : (parseTimestamp(metadata.deletionTimestamp) ?? clock.wall()) -
        (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  return {
    deletionTimestamp: rfc3339((began + seconds * 1000) as WallMs),
    deletionGracePeriodSeconds: seconds,
  };
}

function hasSpecFinalizers(object: ApiObject): boolean {
  if (object.kind !== NAMESPACE_KIND.kind) return false;
  const spec = object["spec"] as { readonly finalizers?: readonly string[] } | undefined;
  return (spec?.finalizers ?? []).length > 0;
}

function checkPreconditions(
  { kind, name }: ObjectRequest,
  before: ApiObject,
  options: DeleteOptions,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = before;
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      kind,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
}
