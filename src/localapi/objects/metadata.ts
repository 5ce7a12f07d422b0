// pure

import { required } from "../../api/decode/field-problem.ts";
import type { ObjectMeta } from "../../api/generated/types.ts";
import type { Problems } from "../../api/validation/fields.ts";
import { metadataProblems } from "../../api/validation/metadata.ts";
import type { ApiObject, NamedMeta, ObjectDraft } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { badRequest, conflict, MODIFIED } from "../status-error.ts";
import type { ObjectRequest } from "./object-request.ts";

/** Letters and digits that make no words (apimachinery `rand`). */
const SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
const MAX_PREFIX_LENGTH = 58;

/** A name from a prefix; `next` gives numbers in [0, 1). */
export function generatedName(prefix: string, next: () => number): string {
  const letters = Array.from({ length: SUFFIX_LENGTH }, () =>
    SUFFIX_LETTERS.charAt(Math.floor(next() * SUFFIX_LETTERS.length)),
  );
  return `${prefix.slice(0, MAX_PREFIX_LENGTH)}${letters.join("")}`;
}

/** A random UUID (version 4) out of 32 digits. */
export function uuidOf(hex: string): string {
  const variant = "89ab".charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Validates metadata against the rules that all kinds share. */
export function sharedProblems(kind: Kind, { metadata }: ApiObject): Problems {
  const all = metadataProblems(metadata, "metadata");
  const problems = kind.rules.hasOwnNames
    ? all.filter(({ path }) => path !== "metadata.name")
    : all;
  if (kind.namespaced) return problems;
  return [
    ...problems.filter(({ path }) => path !== "metadata.namespace"),
    ...(metadata.namespace === undefined || metadata.namespace === ""
      ? []
      : [
          {
            path: "metadata.namespace",
            kind: "forbidden",
            message: "not allowed on this type",
          } as const,
        ]),
  ];
}

/** Problem of an object with neither a name nor a prefix for one. */
export const NAMELESS: Problems = [required("metadata.name", "name or generateName is required")];

/** Refuses an object whose namespace is not that of the path. Throws `StatusError` BadRequest. */
export function checkPlace(
  { metadata: { namespace: given = "" } }: ObjectDraft,
  { kind, namespace }: ObjectRequest,
): void {
  if (kind.namespaced && given !== "" && given !== namespace)
    throw badRequest(
      `the namespace of the provided object does not match the namespace sent on the request`,
    );
}

/** The object in the namespace of the path. Throws as `checkPlace`. */
export function placed(object: ApiObject, request: ObjectRequest): ApiObject {
  checkPlace(object, request);
  const { namespace: given = "", ...metadata } = object.metadata;
  if (!request.kind.namespaced) return given === "" ? { ...object, metadata } : object;
  return { ...object, metadata: { ...metadata, namespace: request.namespace } };
}

/**
 * The object with the name that it must have, which is that of the path. Throws `StatusError` BadRequest with the
 * texts of the API server's `checkName`.
 */
export function withPathName(object: ObjectDraft, { name }: ObjectRequest): ApiObject {
  const { name: given = "" } = object.metadata;
  if (given === "")
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (given !== name)
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    );
  return { ...object, metadata: { ...object.metadata, name } };
}

/** Checks that UID and version of an update match the stored object. Throws `StatusError` Conflict. */
export function checkSame(now: ApiObject, before: ApiObject, request: ObjectRequest): void {
  const { kind, name } = request;
  const { uid, resourceVersion } = now.metadata;
  if (uid !== undefined && uid !== "" && uid !== before.metadata.uid)
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
    );
  const isGiven =
    resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== "0";
  if (isGiven && resourceVersion !== before.metadata.resourceVersion)
    throw conflict(kind, name, MODIFIED);
}

/** Metadata after an update: what only the server sets stays as it was. */
export function keptMetadata(now: NamedMeta, before: NamedMeta): NamedMeta {
  const {
    generation: _,
    deletionTimestamp: __,
    deletionGracePeriodSeconds: ___,
    selfLink: ____,
    ...rest
  } = now;
  const { generation, deletionTimestamp, deletionGracePeriodSeconds } = before;
  return {
    ...rest,
    name: before.name,
    ...copied("namespace", before),
    ...copied("uid", before),
    ...copied("creationTimestamp", before),
    ...copied("resourceVersion", before),
    ...copied("generateName", before),
    ...(generation === undefined ? {} : { generation }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
  };
}

function copied<K extends keyof ObjectMeta>(
  name: K,
  from: ObjectMeta,
): Pick<ObjectMeta, K> | object {
  return from[name] === undefined ? {} : { [name]: from[name] };
}
