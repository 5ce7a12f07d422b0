import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Pod, PodSpec } from "../../api/generated/types.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { type ApiObject, isFullyDeleted, without } from "../api-object.ts";
import { resizedSpec } from "../kinds/resize-rules.ts";
import { afterUpdate } from "../patch/managed-fields.ts";
import { structShape } from "../schema/shapes.ts";
import { invalidObject } from "../status-error.ts";
import { admitChange } from "./admit-features.ts";
import type { ObjectsCore } from "./core.ts";
import { typeOf, withoutRepetition, writerOf } from "./create.ts";
import { checkSame, keptMetadata, placed, sharedProblems } from "./metadata.ts";
import type { ObjectRequest } from "./object-request.ts";

/** Subresources of pods that change the spec and nothing else. */
const SPEC_ONLY: ReadonlySet<string> = new Set(["ephemeralcontainers", "resize"]);

/** How a write came to be, where it is not an ordinary one. */
interface UpdateKind {
  /** Server-side apply has decided on the owners; they are in the object. */
  readonly owners?: "decided";
}

/**
 * Replaces an object (or the part of it that the subresource stands for) by what a client requests. Gives it
 * as it is kept. Throws `StatusError`. Await `store.settled()` before replying.
 */
export function updateObject(
  core: ObjectsCore,
  request: ObjectRequest,
  requested: { readonly before: ApiObject; readonly now: ApiObject },
  how: UpdateKind = {},
): ApiObject {
  const { kind, name, dryRun } = request;
  const { before } = requested;
  const given = placed(requested.now, request);
  checkSame(given, before, request);
  const now = nextState(request, given, before);
  const problems = changeProblems(request, now, before);
  if (problems.length > 0) throw invalidObject(kind, name, withoutRepetition(problems));
  if (request.subresource === "") appendAll(request.warnings, kind.rules.warn?.(now) ?? []);
  const owned =
    how.owners === "decided"
      ? now
      : afterUpdate(
          before,
          withOwnersOf(now, before, given),
          writerOf(core, request),
          structShape(typeOf(request)),
        );
  if (isSameButOwners(owned, before, how)) return before;
  admitChange(core, request, { before, now: owned });
  if (dryRun) return owned;
  return isFullyDeleted(owned)
    ? core.store.remove(kind.collection, owned)
    : core.store.put(kind.collection, owned);
}

/** Owners are the server's; a client can only give them all up. */
function withOwnersOf(now: ApiObject, before: ApiObject, given: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = now.metadata;
  const owners =
    given.metadata.managedFields?.length === 0 ? undefined : before.metadata.managedFields;
  return { ...now, metadata: owners ? { ...metadata, managedFields: owners } : metadata };
}

function nextState(request: ObjectRequest, given: ApiObject, before: ApiObject): ApiObject {
  const { kind, subresource } = request;
  const { complete = same, keep = same, keepStatus = same } = kind.rules;
  const metadata = keptMetadata(given.metadata, before.metadata);
  const owners = before.metadata.ownerReferences;
  if (subresource === "status" || subresource === "approval")
    return keepStatus(
      {
        ...before,
        metadata: {
          ...metadata,
          ...(owners ? { ownerReferences: owners } : {}),
        },
        ...(given["status"] === undefined ? {} : { status: given["status"] }),
      },
      before,
    );
  if (SPEC_ONLY.has(subresource)) {
    const spec = subresource === "resize" ? resizedOf(before, given) : given["spec"];
    const changed = complete({ ...before, spec });
    return keep({ ...changed, metadata: { ...before.metadata, ...managed(given) } }, before);
  }
  const content = kind.hasStatus ? without(given, "status") : given;
  const status =
    kind.hasStatus && before["status"] !== undefined ? { status: before["status"] } : {};
  return keep(complete({ ...content, ...status, metadata } as ApiObject), before);
}

/** Of a pod whose resources are to change in place everything else stays, whatever is given. */
function resizedOf(before: ApiObject, given: ApiObject): PodSpec | undefined {
  const [old, asked] = [(before as unknown as Pod).spec, (given as unknown as Pod).spec];
  return old && asked ? resizedSpec(old, asked) : old;
}

function managed({ metadata: { managedFields } }: ApiObject) {
  return managedFields ? { managedFields } : {};
}

function changeProblems(request: ObjectRequest, now: ApiObject, before: ApiObject) {
  const { kind, subresource } = request;
  const { validate, validateChange } = kind.rules;
  const change = validateChange?.(now, before, subresource) ?? [];
  if (subresource === "status") return [...sharedProblems(kind, now), ...change];
  return [...sharedProblems(kind, now), ...(validate?.(now) ?? []), ...change];
}

function isSameButOwners(now: ApiObject, before: ApiObject, { owners }: UpdateKind): boolean {
  const bare = ({ metadata, ...rest }: ApiObject) => {
    const { managedFields, ...other } = metadata;
    const entries = (managedFields ?? []).map(({ time: _, ...entry }) => entry);
    return { ...rest, metadata: owners === "decided" ? { ...other, entries } : other };
  };
  return isSame(bare(now), bare(before));
}

const same = (object: ApiObject): ApiObject => object;
