// pure

import { type Decodable, decodeObject } from "../../api/decode/decode.ts";
import { type FieldProblem, formatProblem } from "../../api/decode/field-problem.ts";
import { apiVersionOf } from "../../api/text/api-version.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree } from "../../kit/json.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { ApiObject, ObjectDraft } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { badRequest } from "../status-error.ts";
import { withPathName } from "./metadata.ts";
import type { ObjectRequest } from "./object-request.ts";

/** The JSON of a body as an object of the requested kind. Throws `StatusError` BadRequest. */
export function readObject(json: unknown, request: ObjectRequest): ObjectDraft {
  const { kind } = request;
  if (!isTree(json)) throw badRequest(`the body is not a valid ${kind.kind}`);
  checkType(json, kind);
  const { value, problems } = decodeObject(kind.type as keyof Decodable, json);
  report(problems, request);
  const typed = {
    ...(value as unknown as Tree),
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: (value as unknown as Partial<ObjectDraft>).metadata ?? {},
  };
  return kind.view ? kind.view.keep(typed) : typed;
}

/** The same for an object that exists: it bears the name of the path. Throws as `readObject` and `withPathName`. */
export function readNamedObject(json: unknown, request: ObjectRequest): ApiObject {
  return withPathName(readObject(json, request), request);
}

function checkType(json: Tree, kind: Kind): void {
  const { apiVersion, kind: name } = json;
  const expected = apiVersionOf(kind);
  if (apiVersion !== undefined && apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  if (name !== undefined && name !== kind.kind)
    throw badRequest(
      `${kind.kind} in version "${expected}" cannot be handled as a ${kind.kind}: no kind "${String(name)}" is registered for version "${expected}"`,
    );
}

/** Refuses wrong types; unknown fields as `fieldValidation` says. Missing fields are left to validation. */
function report(problems: readonly FieldProblem[], request: ObjectRequest): void {
  const { kind, fieldValidation, warnings } = request;
  const lead = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: `;
  const wrong = problems.filter((each) => each.kind !== "required" && each.kind !== "unknownField");
  const [first] = wrong;
  if (first) throw badRequest(`${lead}${formatProblem(first)}`);
  const unknown = problems
    .filter((each) => each.kind === "unknownField")
    .map(({ path }) => `unknown field ${JSON.stringify(path)}`);
  if (unknown.length === 0) return;
  if (fieldValidation === "Strict")
    throw badRequest(`${lead}strict decoding error: ${unknown.join(", ")}`);
  if (fieldValidation === "Warn") appendAll(warnings, unknown);
}
