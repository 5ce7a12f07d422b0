// pure
/** Something in the tree that breaks a rule of the repository. */

/** One finding. `line` counts from 1; 0 means the file as a whole. */
export interface Violation {
  readonly rule:
    | "modules"
    | "wiring"
    | "pure"
    | "blocking"
    | "parallel"
    | "spreads"
    | "state"
    | "size"
    | "names"
    | "twice"
    | "docs"
    | "readers"
    | "dead"
    | "words"
    | "files";
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** `path:line message`, as terminals and editors understand it. */
export function formatViolation({ path, line, message }: Violation): string {
  return line > 0 ? `${path}:${line} ${message}` : `${path} ${message}`;
}
