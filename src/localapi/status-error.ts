// pure
/** Refusals in the API's own words (apimachinery `api/errors`). */

import {
  type FieldProblem,
  type FieldProblemKind,
  formatProblem,
  formatProblems,
} from "../api/decode/field-problem.ts";
import type { Status, StatusCause, StatusDetails } from "../api/generated/types.ts";
import { type UnsupportedKind, unsupportedText } from "./kinds/unsupported-kinds.ts";

/** A request is refused; `status` is sent to the client as it is. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.name = "StatusError";
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason,
      ...(details ? { details } : {}),
      code,
    };
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** Whether something thrown is a refusal with one of the reasons. */
export function isRefusal(thrown: unknown, ...reasons: readonly string[]): thrown is StatusError {
  return thrown instanceof StatusError && reasons.includes(thrown.status.reason ?? "");
}

/** A resource as errors name it. */
export interface Named {
  readonly group: string;
  readonly plural: string;
}

/** `pods`, or `leases.coordination.k8s.io`. */
export const qualified = ({ group, plural }: Named): string =>
  group === "" ? plural : `${plural}.${group}`;

function detailsOf({ group, plural }: Named, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: plural,
  };
}

/** There is no such object. */
export const objectNotFound = (of: Named, name: string): StatusError =>
  new StatusError(404, "NotFound", `${qualified(of)} "${name}" not found`, detailsOf(of, name));

/** The name is taken. */
export const alreadyExists = (of: Named, name: string): StatusError =>
  new StatusError(
    409,
    "AlreadyExists",
    `${qualified(of)} "${name}" already exists`,
    detailsOf(of, name),
  );

/** Conflict with another write, or a failed precondition. */
export const conflict = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`,
    detailsOf(of, name),
  );

/** Message for a stale write. */
export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** The request itself makes no sense. */
export const badRequest = (message: string): StatusError =>
  new StatusError(400, "BadRequest", message);

/** The client is authenticated but not authorized. */
export const forbiddenRequest = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    403,
    "Forbidden",
    name === ""
      ? `${qualified(of)} is forbidden: ${why}`
      : `${qualified(of)} "${name}" is forbidden: ${why}`,
    detailsOf(of, name),
  );

/** The client is not authenticated. */
export const unauthorized = (): StatusError => new StatusError(401, "Unauthorized", "Unauthorized");

/** The resource has no such verb. */
export const methodNotAllowed = (): StatusError =>
  new StatusError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );

/** A kind that this API does not have: reads are not found, and writes are refused with an alternative. */
export const unsupportedKind = (unsupported: UnsupportedKind, isRead: boolean): StatusError =>
  isRead
    ? new StatusError(404, "NotFound", unsupportedText(unsupported), detailsOf(unsupported, ""))
    : new StatusError(
        405,
        "MethodNotAllowed",
        unsupportedText(unsupported),
        detailsOf(unsupported, ""),
      );

/** There is no such path. */
export const unknownPath = (): StatusError =>
  new StatusError(404, "NotFound", "the server could not find the requested resource", {});

/** None of the formats that are asked for is spoken. */
export const notAcceptable = (supported: readonly string[]): StatusError =>
  new StatusError(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${supported.join(", ")}`,
  );

/** The body has a format that is not spoken. */
export const unsupportedMediaType = (supported: readonly string[]): StatusError =>
  new StatusError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(", ")}`,
  );

/** A body that is too long. */
export const tooLarge = (maxBytes: number): StatusError =>
  new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBytes}`);

/** The version that is asked for is no longer known. */
export const expired = (message: string): StatusError => new StatusError(410, "Expired", message);

/** Something on our side does not work. */
export const internal = (message: string): StatusError =>
  new StatusError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });

/** Something that the request needs is unavailable at the moment. */
export const unavailable = (message: string): StatusError =>
  new StatusError(503, "ServiceUnavailable", message);

const CAUSES: Readonly<Record<FieldProblemKind, string>> = {
  required: "FieldValueRequired",
  invalid: "FieldValueInvalid",
  unsupported: "FieldValueNotSupported",
  forbidden: "FieldValueForbidden",
  duplicate: "FieldValueDuplicate",
  notFound: "FieldValueNotFound",
  tooLong: "FieldValueTooLong",
  tooMany: "FieldValueTooMany",
  unknownField: "FieldValueInvalid",
  typeInvalid: "FieldValueTypeInvalid",
};

function causeOf(problem: FieldProblem): StatusCause {
  const message = formatProblem(problem);
  const lead = `${problem.path}: `;
  return {
    reason: CAUSES[problem.kind],
    message: message.startsWith(lead) ? message.slice(lead.length) : message,
    field: problem.path,
  };
}

/** The object breaks rules of its kind. */
export function invalidObject(
  of: { readonly group: string; readonly kind: string },
  name: string,
  problems: readonly FieldProblem[],
): StatusError {
  const kind = of.group === "" ? of.kind : `${of.kind}.${of.group}`;
  return new StatusError(
    422,
    "Invalid",
    `${kind} "${name}" is invalid: ${formatProblems(problems)}`,
    {
      ...(name === "" ? {} : { name }),
      ...(of.group === "" ? {} : { group: of.group }),
      kind: of.kind,
      causes: problems.map(causeOf),
    },
  );
}
