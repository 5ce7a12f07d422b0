// pure
import type { Status } from "../../api/generated/types.ts";
import { type OutsideCode, OutsideError } from "../../kit/errors.ts";
import type { ApiReply } from "./transport/transport.ts";

/** A refusal of the API server, with its `Status` as it came. */
export class ApiError extends OutsideError {
  /** Of HTTP. */
  readonly statusCode: number;
  readonly status: Status;
  /** Pause the server asked for before the next attempt. */
  readonly retryAfterSeconds: number | undefined;

  constructor(statusCode: number, status: Status, retryAfterSeconds?: number) {
    const reason = status.reason ?? "";
    super(codeOf(statusCode, reason), status.message || `HTTP status ${statusCode}`, {
      retryable: statusCode === 429 || statusCode >= 500,
    });
    this.name = "ApiError";
    this.statusCode = statusCode;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The machine-readable reason (`NotFound`, `Conflict`, `Expired` …); empty when there is none. */
  get reason(): string {
    return this.status.reason ?? "";
  }
}

/** Whether `thrown` is a refusal of the API server with one of these HTTP statuses. */
export function isApiError(thrown: unknown, ...statusCodes: readonly number[]): thrown is ApiError {
  return (
    thrown instanceof ApiError &&
    (statusCodes.length === 0 || statusCodes.includes(thrown.statusCode))
  );
}

function codeOf(statusCode: number, reason: string): OutsideCode {
  switch (statusCode) {
    case 401:
    case 403:
      return "denied";
    case 404:
      return "notFound";
    case 409:
      return reason === "AlreadyExists" ? "alreadyExists" : "precondition";
    case 410:
    case 412:
      return "precondition";
    case 429:
      return "exhausted";
    case 504:
      return "deadline";
    default:
      return statusCode >= 500 ? "unavailable" : "invalid";
  }
}

/** Longest text of a proxy or a broken server that is quoted. */
const QUOTED_CHARACTERS = 300;

/** The error of a reply that is none of success. */
export function apiErrorOf(reply: ApiReply): ApiError {
  const retryAfter = Number(reply.headers["retry-after"]);
  const status = statusOf(reply.body) ?? {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: reply.status,
    message: `the server answered ${reply.status}: ${reply.body.trim().slice(0, QUOTED_CHARACTERS)}`,
  };
  const details = status.details?.retryAfterSeconds;
  const seconds = Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : details;
  return new ApiError(reply.status, status, seconds);
}

/** The error that a watch carries in an `ERROR` event. */
export function apiErrorOfStatus(status: Status): ApiError {
  return new ApiError(status.code ?? 500, status, status.details?.retryAfterSeconds);
}

function statusOf(body: string): Status | undefined {
  try {
    const value = JSON.parse(body) as Status | null;
    return value?.kind === "Status" ? value : undefined;
  } catch {
    return undefined;
  }
}
