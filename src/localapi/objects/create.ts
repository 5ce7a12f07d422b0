import { apiVersionOf } from "../../api/text/api-version.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { type ApiObject, keyOf, type ObjectDraft } from "../api-object.ts";
import { NAMESPACE_KIND } from "../kinds/catalog.ts";
import { afterUpdate, type Writer } from "../patch/managed-fields.ts";
import { structShape } from "../schema/shapes.ts";
import {
  alreadyExists,
  badRequest,
  forbiddenRequest,
  invalidObject,
  objectNotFound,
} from "../status-error.ts";
import { admitNew } from "./admission.ts";
import type { ObjectsCore } from "./core.ts";
import { checkPlace, generatedName, NAMELESS, placed, sharedProblems, uuidOf } from "./metadata.ts";
import { type ObjectRequest, storeKeyOf } from "./object-request.ts";

/** How often a generated name is drawn again when it is taken. */
const NAME_DRAWS = 8;

/**
 * Makes an object out of what a client sent (already read). Gives it as it is kept; a dry run gives what
 * would be. Throws `StatusError`. Await `store.settled()` before replying.
 */
export function createObject(
  core: ObjectsCore,
  request: ObjectRequest,
  given: ObjectDraft,
): ApiObject {
  const { kind } = request;
  if ((given.metadata.resourceVersion ?? "") !== "")
    throw badRequest("resourceVersion should not be set on objects to be created");
  checkPlace(given, request);
  const named = placed(withName(core, request, given), request);
  if (kind.namespaced) checkNamespace(core, request);
  const begun = beginObject(core, request, named);
  if (core.store.get(kind.collection, keyOf(begun.metadata)))
    throw alreadyExists(kind, begun.metadata.name);
  return request.dryRun ? begun : core.store.put(kind.collection, begun);
}

/** Completes, admits and validates a new object. */
function beginObject(core: ObjectsCore, request: ObjectRequest, named: ApiObject): ApiObject {
  const { kind } = request;
  const { complete = same, begin = same, validate } = kind.rules;
  const admitted = admitNew(core, request, begin(complete(named)));
  const problems = [...sharedProblems(kind, admitted), ...(validate?.(admitted) ?? [])];
  if (problems.length > 0)
    throw invalidObject(kind, admitted.metadata.name, withoutRepetition(problems));
  appendAll(request.warnings, kind.rules.warn?.(admitted) ?? []);
  const made = { ...admitted, metadata: { ...admitted.metadata, ...birth(core) } };
  const writer = writerOf(core, request);
  return afterUpdate(undefined, made, writer, structShape(typeOf(request)));
}

/** Rules of a kind and those of all kinds may report the same. */
export function withoutRepetition<T>(problems: readonly T[]): readonly T[] {
  const texts = new Set<string>();
  return problems.filter((problem) => {
    const text = JSON.stringify(problem);
    return texts.has(text) ? false : texts.add(text);
  });
}

function birth({ random, clock }: ObjectsCore) {
  return { uid: uuidOf(random.hex(16)), creationTimestamp: rfc3339(clock.wall()) };
}

/** Type of the kept form: another than the resource's where it has a view. */
export function typeOf({ kind }: ObjectRequest): string {
  return kind.view ? "CoreEvent" : kind.type;
}

/** In whose name a write is. */
export function writerOf(core: ObjectsCore, { manager, kind, subresource }: ObjectRequest): Writer {
  return {
    manager,
    apiVersion: apiVersionOf(kind),
    subresource,
    time: rfc3339(core.clock.wall()),
  };
}

/** The object with its name, which is drawn when only a prefix is given, and without what the server sets. */
function withName(core: ObjectsCore, request: ObjectRequest, object: ObjectDraft): ApiObject {
  const { kind } = request;
  const {
    name = "",
    generateName = "",
    deletionTimestamp: _,
    deletionGracePeriodSeconds: __,
    generation: ___,
    selfLink: ____,
    managedFields: _____,
    uid: ______,
    ...metadata
  } = object.metadata;
  const at = (own: string): ApiObject => ({
    ...object,
    metadata: { ...metadata, name: own, ...(generateName === "" ? {} : { generateName }) },
  });
  if (name !== "") return at(name);
  if (generateName === "") throw invalidObject(kind, "", NAMELESS);
  for (let draws = 0; draws < NAME_DRAWS; draws += 1) {
    const drawn = generatedName(generateName, () => core.random.next());
    const key = storeKeyOf({ ...request, name: drawn });
    if (!core.store.get(kind.collection, key)) return at(drawn);
  }
  throw alreadyExists(kind, generateName);
}

function checkNamespace({ store }: ObjectsCore, { kind, namespace, name }: ObjectRequest): void {
  const found = store.get(NAMESPACE_KIND.collection, `/${namespace}`);
  if (!found) throw objectNotFound(NAMESPACE_KIND, namespace);
  if (found.metadata.deletionTimestamp !== undefined)
    throw forbiddenRequest(
      kind,
      name,
      `unable to create new content in namespace ${namespace} because it is being terminated`,
    );
}

const same = (object: ApiObject): ApiObject => object;
