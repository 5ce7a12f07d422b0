// The one time that everything in a package has.
import { execFileSync } from "node:child_process";
import { ROOT } from "../setup/root.mjs";

/** Seconds since 1970: SOURCE_DATE_EPOCH (reproducible-builds.org), else the time of the commit. */
export function commitTime(env = process.env) {
  const given = env.SOURCE_DATE_EPOCH;
  if (given !== undefined) {
    if (!/^\d+$/.test(given))
      throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, not "${given}"`);
    return Number(given);
  }
  try {
    const options = { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return Number(execFileSync("git", ["log", "-1", "--format=%ct"], options));
  } catch {
    throw new Error("the time of the commit is unknown here: set SOURCE_DATE_EPOCH");
  }
}
