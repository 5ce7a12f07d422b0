// pure
import { messageOf, type OutsideCode, OutsideError } from "../../../kit/errors.ts";

/** Request to a file worker: an operation by name with its arguments. */
export interface WorkerRequest {
  readonly id: number;
  readonly operation: string;
  readonly args: readonly unknown[];
}

/** A failure as it goes through a pipe; `code` is absent for what is no `OutsideError`. */
interface WorkerFailure {
  readonly code: OutsideCode | undefined;
  readonly message: string;
  readonly retryable: boolean;
}

/**
 * Messages of a file worker: it has started, the result of a request, its failure, progress of a long request,
 * or something changed in a folder that is being watched (`watch` is the id of the request for it).
 */
export type WorkerMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly failure: WorkerFailure }
  | { readonly kind: "progress"; readonly id: number }
  | { readonly kind: "changed"; readonly watch: number; readonly change: "names" | "content" };

/** A thrown error, serialized for the pipe. */
export function describeFailure(thrown: unknown): WorkerFailure {
  if (thrown instanceof OutsideError)
    return { code: thrown.code, message: thrown.message, retryable: thrown.retryable };
  return { code: undefined, message: messageOf(thrown), retryable: false };
}

/** The failure as it was thrown in the worker. */
export function restoreFailure({ code, message, retryable }: WorkerFailure): Error {
  return code === undefined ? new Error(message) : new OutsideError(code, message, { retryable });
}
