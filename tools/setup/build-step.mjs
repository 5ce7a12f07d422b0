// dist/ is built again when a source, the lock file or the build script has changed.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeBinary } from "./npm-step.mjs";
import { runQuietly, SetupError, say, tail } from "./progress.mjs";
import { ROOT } from "./root.mjs";

/** Builds if needed. Types are only for publishing and take longest, so only `npm run build` makes them. */
export async function buildStep({ types }) {
  if (!existsSync(join(ROOT, "src"))) return;
  const stamp = join(ROOT, "dist", types ? ".stamp-types" : ".stamp");
  const digest = sourceDigest();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  const argv = [nodeBinary(), join(ROOT, "tools", "build.mjs"), ...(types ? ["--types"] : [])];
  const { code, output } = await runQuietly("building dist/ (sources changed)", argv, {
    cwd: ROOT,
  });
  if (code !== 0)
    throw new SetupError(
      `the build failed:\n${tail(output, 40)}`,
      /permission denied|EACCES|EROFS/.test(output)
        ? "the checkout belongs to somebody else: run the command as its owner or as root"
        : "correct the source named above",
    );
  if (!existsSync(join(ROOT, "dist", "nodelet.cjs"))) say(output.trim());
  writeFileSync(stamp, digest);
  if (types) writeFileSync(join(ROOT, "dist", ".stamp"), digest);
}

function sourceDigest() {
  const hash = createHash("sha256");
  const tools = ["build.mjs", "lazy-modules.mjs", "rare-packages.mjs"].map(
    (name) => `tools/${name}`,
  );
  const files = ["package-lock.json", "package.json", "tsconfig.json", ...tools];
  for (const path of [...files, ...sourceFiles("tools/code-cache"), ...sourceFiles("src")])
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  return hash.digest("hex");
}

function sourceFiles(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return sourceFiles(path);
      return /\.(ts|cjs|mjs|tsv|json|css|html|svg)$/.test(path) && !path.endsWith(".test.ts")
        ? [path]
        : [];
    });
}
