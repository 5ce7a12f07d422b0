// The Node that runs as root, held against checksums of the tree: what npm delivers is one account's repackaging.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SetupError } from "./progress.mjs";

const SUMS = fileURLToPath(new URL("node-sums.json", import.meta.url));

/** SHA-256 of `bin/node` of a version for `x64` or `arm64`, in hex. Throws where the tree has none. */
export function nodeSum(version, processor) {
  const sum = JSON.parse(readFileSync(SUMS, "utf8"))[version]?.[processor];
  if (sum !== undefined) return sum;
  throw new SetupError(
    `tools/setup/node-sums.json has no checksum of Node ${version} for ${processor}`,
    "check the binary with `node tools/package/check-node.mjs` and add its checksum",
  );
}

/** SHA-256 of a file, in hex. */
export function sha256OfFile(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** Throws when the binary at `path` is not the one that the tree knows. */
export function checkNodeBinary(path, version, processor) {
  const found = sha256OfFile(path);
  if (found === nodeSum(version, processor)) return;
  throw new SetupError(
    `${path} is not Node ${version} as tools/setup/node-sums.json knows it: its SHA-256 is ${found}`,
    "delete node_modules and run the command again; if it stays so, do not run that binary, and report it",
  );
}
