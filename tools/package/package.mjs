// Makes the packages that are published, into out/ or the folder given:
//   npm run package [-- --out FOLDER] [--processor x64|arm64 …] [--uncompressed] [npm|deb|executable …]
// Two builds of one commit make the same bytes: all times are those of the commit (or SOURCE_DATE_EPOCH).
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundledInputs } from "../build.mjs";
import { ROOT } from "../setup/root.mjs";
import { writeBillOfMaterials } from "./bill-of-materials.mjs";
import { commitTime } from "./commit-time.mjs";
import { ARCHITECTURES, buildDebianPackage } from "./debian.mjs";
import { buildExecutable } from "./executable.mjs";
import { packForNpm } from "./npm-archive.mjs";
import { manifest, stagePackage } from "./stage.mjs";

const KINDS = { npm: packForNpm, deb: buildDebianPackage, executable: buildExecutable };

const USAGE = `usage: npm run package [-- --out FOLDER] [--processor ${Object.keys(ARCHITECTURES).join("|")} …] [--uncompressed] [${Object.keys(KINDS).join("|")} …]`;

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: "string", default: join(ROOT, "out") },
      // Of Debian packages, which there is one of for each.
      processor: { type: "string", multiple: true, default: Object.keys(ARCHITECTURES) },
      // Debian packages for a trial: most of the time goes into compressing them.
      uncompressed: { type: "boolean", default: false },
    },
  });
  const unknown = positionals.find((kind) => !(kind in KINDS));
  if (unknown !== undefined) throw new Error(`unknown package kind "${unknown}"\n${USAGE}`);
  const { processor: processors, uncompressed } = values;
  const other = processors.find((name) => !(name in ARCHITECTURES));
  if (other !== undefined) throw new Error(`unknown processor "${other}"\n${USAGE}`);
  const kinds = positionals.length > 0 ? positionals : Object.keys(KINDS);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const { version } = manifest();
  const work = mkdtempSync(join(tmpdir(), "nodelet-package-"));
  try {
    const epochSeconds = commitTime();
    const stage = join(work, "stage");
    mkdirSync(stage);
    const date = new Date(epochSeconds * 1000).toISOString().slice(0, 10);
    const inputs = await bundledInputs();
    await stagePackage(stage, { version, date }, inputs);
    const files = [writeBillOfMaterials(out, version, inputs)];
    const build = { stage, work, out, version, epochSeconds, processors, uncompressed };
    for (const kind of kinds) files.push(...(await KINDS[kind](build)));
    writeFileSync(join(out, "SHA256SUMS"), files.map(sumLine).toSorted().join(""));
    for (const file of files) console.log(sizeLine(file));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** As sha256sum(1) writes and checks it. */
function sumLine(path) {
  const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
  return `${digest}  ${basename(path)}\n`;
}

function sizeLine(path) {
  return `${(statSync(path).size / 1024 / 1024).toFixed(1).padStart(6)} MiB  ${path}`;
}

await main().catch((error) => {
  console.error(`package: ${error.message}`);
  process.exitCode = 1;
});
