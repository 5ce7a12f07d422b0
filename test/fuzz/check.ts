import { isDeepStrictEqual } from "node:util";

/** What a decoder promises of its result did not hold. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** Both are the same, or `BrokenPromise` is thrown. */
export function same(actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new BrokenPromise(`${shown(actual)} is not ${shown(expected)}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? `${part}n` : part,
  );
  return (text ?? String(value)).slice(0, 1_000);
}

/** The bytes in pieces, cut at places that depend on their content. */
export function inPieces(bytes: Uint8Array): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + ((bytes[at] ?? 0) % 23);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** Runs `work`; what it throws that `refuses` names by class or message counts as an outcome. */
export function outcome<T>(
  work: () => T,
  isRefusal: (error: unknown) => boolean,
): { readonly value: T } | "refused" {
  try {
    return { value: work() };
  } catch (error) {
    if (isRefusal(error)) return "refused";
    throw error;
  }
}
