// pure
import { type OutsideCode, OutsideError } from "../../kit/errors.ts";

const CODES: Readonly<Record<string, OutsideCode>> = {
  ENOENT: "notFound",
  ENOTDIR: "notFound",
  // A cgroup file that was open while its group went away.
  ENODEV: "notFound",
  ESRCH: "notFound",
  EEXIST: "alreadyExists",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "denied",
  ENOSPC: "exhausted",
  EDQUOT: "exhausted",
  EMFILE: "exhausted",
  ENFILE: "exhausted",
  ENOMEM: "exhausted",
  EBUSY: "precondition",
  ENOTEMPTY: "precondition",
  EISDIR: "precondition",
  EXDEV: "precondition",
  EINVAL: "invalid",
  ERANGE: "invalid",
  ENAMETOOLONG: "invalid",
  ELOOP: "invalid",
  ENOTSUP: "unimplemented",
  EOPNOTSUPP: "unimplemented",
  EAGAIN: "unavailable",
  EINTR: "unavailable",
};

/** Texts that users and alerts search for. */
const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: "no space left on device",
  EDQUOT: "disk quota exceeded",
};

/** The kernel's name of an error (`ENOENT`), or "" when `thrown` is not a failed system call. */
export function errnoOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return "";
  return typeof thrown.code === "string" ? thrown.code : "";
}

/** Whether `thrown` says that a path, or a folder on the way to it, is not there. */
export function isMissing(thrown: unknown): boolean {
  const errno = errnoOf(thrown);
  return errno === "ENOENT" || errno === "ENOTDIR";
}

/**
 * `thrown` as an `OutsideError` that says what was tried on which path. One that already is stays as
 * it is. A busy object is worth another try, a full folder is not.
 */
export function hostError(action: string, path: string, thrown: unknown): OutsideError {
  if (thrown instanceof OutsideError) return thrown;
  const errno = errnoOf(thrown);
  const code = CODES[errno] ?? "io";
  const words = WORDS[errno];
  const description = words === undefined ? errno : `${words} (${errno})`;
  const text = description || (thrown instanceof Error ? thrown.message : String(thrown));
  const options = errno === "EBUSY" ? { cause: thrown, retryable: true } : { cause: thrown };
  return new OutsideError(code, `${action} ${path}: ${text}`, options);
}
