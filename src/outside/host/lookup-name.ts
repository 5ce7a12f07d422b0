import { lookup } from "node:dns/promises";
import { messageOf, OutsideError } from "../../kit/errors.ts";

/** Errors of getaddrinfo(3) for an unknown name or one without addresses. */
const UNKNOWN = new Set(["ENOTFOUND", "ENODATA"]);

/** See `Host.lookup`. */
export async function lookupName(name: string): Promise<readonly string[]> {
  try {
    const found = await lookup(name, { all: true, order: "verbatim" });
    return found.map(({ address }) => address);
  } catch (error) {
    if (UNKNOWN.has((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw new OutsideError("unavailable", `lookup ${name}: ${messageOf(error)}`, { cause: error });
  }
}
