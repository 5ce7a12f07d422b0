import { lookup } from "node:dns/promises";
import { messageOf, OutsideError } from "../../kit/errors.ts";

/** What getaddrinfo(3) says when nobody knows the name, or knows no address of it. */
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
