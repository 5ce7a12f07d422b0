// pure
/** Request line and headers, before routing and authentication. */

/** The target of a request, taken apart. */
export interface RequestTarget {
  /** As sent. */
  readonly path: string;
  /** Segments of the path, decoded; empty before the first and after the last slash. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Longest path that is matched; the parts of a pod's name fit many times. The query is bounded as headers are. */
const MAX_PATH = 4096;
const MAX_PARTS = 64;
const BEARER = /^Bearer +(\S+)$/i;

/** Takes the target of a request apart; `undefined` when it is no path or cannot be decoded. */
export function parseTarget(target: string): RequestTarget | undefined {
  const path = pathPart(target);
  if (!path.startsWith("/") || path.length > MAX_PATH) return undefined;
  const parts = path.split("/");
  if (parts.length > MAX_PARTS) return undefined;
  try {
    const query = new URLSearchParams(target.slice(path.length + 1));
    return { path, parts: parts.map(decodeURIComponent), query };
  } catch {
    return undefined;
  }
}

/** The part of a target before its query. */
export function pathPart(target: string): string {
  const mark = target.indexOf("?");
  return mark < 0 ? target : target.slice(0, mark);
}

/** The token of an `Authorization: Bearer` header. */
export function bearerTokenOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization?.trim() ?? "")?.[1];
}
