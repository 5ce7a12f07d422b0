// One file that needs no Node (nodejs.org/api/single-executable-applications.html): nodelet-VERSION-linux-ARCH, for the
// machine it is made on.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { buildSingleProgram } from "../build.mjs";
import { nodeBinary } from "../setup/npm-step.mjs";

/** What the program reads from its package. */
const ASSETS = ["assets", "examples/hello", "dist/file-worker.cjs", "dist/page"];

/** Builds the executable from the staged package. */
export async function buildExecutable({ stage, work, out, version }) {
  const folder = join(work, "executable");
  mkdirSync(folder);
  await buildSingleProgram(join(folder, "nodelet.cjs"));
  const output = join(out, `nodelet-${version}-linux-${process.arch}`);
  const config = {
    // Relative to the folder, whose own path must not stand in the executable.
    main: "nodelet.cjs",
    mainFormat: "commonjs",
    output,
    executable: nodeBinary(),
    disableExperimentalSEAWarning: true,
    // All that differs between the agent and a command is how early memory is collected.
    execArgv: agentNodeFlags(undefined),
    execArgvExtension: "env",
    assets: Object.fromEntries(
      ASSETS.flatMap((path) => filesBelow(stage, path)).map((path) => [path, join(stage, path)]),
    ),
  };
  const file = join(folder, "executable.json");
  writeFileSync(file, JSON.stringify(config));
  execFileSync(nodeBinary(), ["--build-sea", file], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  chmodSync(output, 0o755);
  return [output];
}

function filesBelow(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .toSorted()
    .flatMap((name) => filesBelow(root, `${path}/${name}`));
}
