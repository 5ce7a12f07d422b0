// Builds what is shipped: dist/nodelet.cjs, which loads dist/agent.cjs or dist/cli.cjs (CommonJS because Node then loads
// its own modules lazily), dist/library.js (ESM, packages stay imports) and dist/types.
//   node tools/build.mjs [--types]
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { PROGRAMS as CACHED_PROGRAMS, writeCodeCache } from "./code-cache/code-cache.mjs";
import { isLazyModule, lazyModules } from "./lazy-modules.mjs";
import { rarePackages } from "./rare-packages.mjs";

const ROOT = join(import.meta.dirname, "..");
const PROGRAM = join(ROOT, "src/main.ts");
const FILE_WORKER = join(ROOT, "src/outside/host/worker/main.ts");
const LIBRARY = join(ROOT, "src/library.ts");
const PAGE = join(ROOT, "src/page");
const DIST = join(ROOT, "dist");
/** Packages in CommonJS ask for Node's modules by `require`, which an ES module does not have. */
const REQUIRE_IN_MODULE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node24",
  sourcemap: "external",
  legalComments: "none",
  logLevel: "warning",
};

/** Says what was built; throws with esbuild's messages. */
export async function buildAll({ types = false, say = console.error } = {}) {
  mkdirSync(DIST, { recursive: true });
  await buildProgram(say);
  await buildFileWorker(say);
  await buildPage(say);
  await buildLibrary(say);
  if (types) emitTypes(say);
}

/** Packages that are imported with `import()` only, by the file in dist/packages that holds them. */
const RARE_PACKAGES = {
  dbus: ["dbus-native"],
  grpc: ["@grpc/grpc-js"],
  opentelemetry: [
    "@opentelemetry/api",
    "@opentelemetry/core",
    "@opentelemetry/exporter-trace-otlp-grpc",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace",
  ],
  cel: ["@marcbachmann/cel-js"],
  websocket: ["ws"],
};

/** What a process loads one of: the agent keeps the text of its program for months, so nothing of the commands is in it. */
const PROGRAMS = { agent: "./process/run.ts", cli: "./cli/cli.ts" };

/** Modules of Node that are loaded when one of their names is first used. */
const RARE_NODE_MODULES = ["node:http2", "node:zlib"];

/** Names stay, so that a stack trace from the field can be read without the map. */
const SMALL = { minifyWhitespace: true, minifySyntax: true };

function programOptions(entry, outfile) {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return {
    ...COMMON,
    ...SMALL,
    entryPoints: [entry],
    outfile,
    format: "cjs",
    define: {
      "import.meta.url": "__nodeletUrl",
      "import.meta.dirname": "__dirname",
      "import.meta.filename": "__filename",
      "process.env.NODELET_BUILD_VERSION": JSON.stringify(version),
    },
    // An agent without a cluster compresses nothing, and only probes and the local API speak HTTP/2 by Node's module.
    plugins: [lazyModules(RARE_NODE_MODULES)],
    banner: { js: 'const __nodeletUrl=require("node:url").pathToFileURL(__filename).href;' },
    metafile: true,
    // What is compiled from a code cache cannot import.
    supported: { "dynamic-import": false },
  };
}

/** What is made of `src/main.ts`: options of each program by its name in dist/, and the files in dist/packages. */
export async function programFiles() {
  const shared = {
    ...COMMON,
    ...SMALL,
    plugins: [lazyModules(RARE_NODE_MODULES)],
  };
  const { files, banner, plugin } = await rarePackages(RARE_PACKAGES, "packages", shared);
  const programs = Object.entries(PROGRAMS).map(([name, entry]) => {
    const options = programOptions(join(ROOT, "src", entry), join(DIST, `${name}.cjs`));
    options.banner.js += banner;
    options.plugins.unshift(plugin);
    return [`${name}.cjs`, options];
  });
  const main = withPrograms(programOptions(PROGRAM, join(DIST, "nodelet.cjs")));
  return { programs: Object.fromEntries([...programs, ["nodelet.cjs", main]]), packages: files };
}

/** The entry of the process without the programs, which it loads with their code caches. */
function withPrograms(options) {
  const names = new Map(Object.entries(PROGRAMS).map(([name, entry]) => [entry, name]));
  const namespace = "program";
  const plugin = {
    name: namespace,
    setup(on) {
      on.onResolve({ filter: /^\.\/(?:cli|process)\// }, ({ path, importer }) => {
        const name = importer === PROGRAM ? names.get(path) : undefined;
        return name === undefined ? undefined : { path: name, namespace };
      });
      on.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
        contents: `const { loadProgram } = require("./code-cache/load-program.mjs");
          module.exports = loadProgram(${JSON.stringify(path)}, __dirname, require);`,
        resolveDir: import.meta.dirname,
      }));
    },
  };
  return { ...options, plugins: [...options.plugins, plugin] };
}

async function buildProgram(say) {
  const { programs, packages } = await programFiles();
  const folder = join(DIST, "packages");
  // Not written over: processes that run have them open.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, { text }] of Object.entries(packages))
    writeFileSync(join(folder, `${name}.cjs`), text);
  say(`build: dist/packages, ${Object.keys(packages).join(", ")}`);
  for (const [name, options] of Object.entries(programs)) {
    const { metafile } = await build(options);
    say(`build: dist/${name}, ${Math.round(outputOf(metafile).bytes / 1024)} KiB`);
  }
  for (const name of CACHED_PROGRAMS) {
    const kib = Math.round(writeCodeCache(DIST, name) / 1024);
    say(`build: dist/${name}.code-cache, ${kib} KiB`);
  }
}

function outputOf({ outputs }) {
  return Object.entries(outputs).find(([name]) => name.endsWith(".cjs"))[1];
}

/** All of it in one file, for an executable that has no files beside it. */
export async function buildSingleProgram(outfile) {
  await build({ ...programOptions(PROGRAM, outfile), sourcemap: false });
}

/** Source files that the bundles contain, relative to the checkout, those of packages among them. */
export async function bundledInputs() {
  const library = {
    ...COMMON,
    entryPoints: [LIBRARY],
    outdir: DIST,
    format: "esm",
  };
  const programs = [
    programOptions(PROGRAM, join(DIST, "nodelet.cjs")),
    library,
    pageOptions(DIST),
  ].map((options) => build({ ...options, write: false, metafile: true, sourcemap: false }));
  const results = await Promise.all(programs);
  const inputs = new Set(results.flatMap(({ metafile }) => Object.keys(metafile.inputs)));
  return [...inputs].filter((path) => !isLazyModule(path)).toSorted();
}

/** Modules that a file worker needs for few requests, or for none: temporary names, programs that mount, compressed logs. */
const RARE_IN_WORKERS = [
  "node:child_process",
  "node:crypto",
  "node:stream",
  "node:stream/promises",
  "node:zlib",
];

/** The program of file workers, small because it is started whenever one is replaced. */
async function buildFileWorker(say) {
  await build({
    ...COMMON,
    entryPoints: [FILE_WORKER],
    outfile: join(DIST, "file-worker.cjs"),
    format: "cjs",
    minifyWhitespace: true,
    minifySyntax: true,
    plugins: [lazyModules(RARE_IN_WORKERS)],
    define: { "import.meta.filename": "__filename", "import.meta.dirname": "__dirname" },
  });
  say("build: dist/file-worker.cjs");
}

function pageOptions(folder) {
  return {
    absWorkingDir: ROOT,
    bundle: true,
    platform: "browser",
    target: ["es2023", "chrome123", "firefox120", "safari17.5"],
    format: "esm",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    entryPoints: [join(PAGE, "app.ts"), join(PAGE, "app.css")],
    outdir: folder,
  };
}

/**
 * The page of the node: one document with its script and styles in it, since each further file is a round trip before
 * the browser paints. Compressed here, so that it costs the agent nothing.
 */
async function buildPage(say) {
  const folder = join(DIST, "page");
  const { outputFiles } = await build({ ...pageOptions(folder), write: false });
  const built = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text.trim();
  const [styles, script] = [built(".css"), built(".js")];
  // What would end the element, or begin one that a browser nests.
  const bad = /<!--|<\/?(script|style)/i.exec(styles + script);
  if (bad) throw new Error(`the page's script or styles hold ${bad[0]}, which HTML does not allow`);
  const parts = {
    styles: `<style>${styles}</style>`,
    script: `<script type="module">${script}</script>`,
  };
  const html = readFileSync(join(PAGE, "index.html"), "utf8").replaceAll(
    /<!-- (styles|script) -->/g,
    (_, name) => parts[name],
  );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, "index.html"), html);
  writeFileSync(join(folder, "index.html.br"), brotliCompressSync(html));
  copyFileSync(join(PAGE, "icon.svg"), join(folder, "icon.svg"));
  const kib = (name) => Math.round(statSync(join(folder, name)).size / 1024);
  say(`build: dist/page, ${kib("index.html")} KiB, ${kib("index.html.br")} KiB compressed`);
}

/** The library; `bundled` takes packages into it, for those who install it without any. */
export async function buildLibrary(
  say,
  { outfile = join(DIST, "library.js"), bundled = false } = {},
) {
  await build({
    ...COMMON,
    entryPoints: [LIBRARY],
    outfile,
    format: "esm",
    sourcemap: bundled ? false : COMMON.sourcemap,
    ...(bundled ? { banner: { js: REQUIRE_IN_MODULE } } : { packages: "external" }),
  });
  say("build: dist/library.js");
}

/** Declarations of everything the library shows, by the TypeScript compiler. */
function emitTypes(say) {
  const config = join(DIST, "tsconfig.json");
  const options = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: "../src",
    outDir: "types",
    skipLibCheck: true,
  };
  const content = {
    extends: "../tsconfig.json",
    compilerOptions: options,
    include: [],
    files: ["../src/library.ts"],
  };
  writeFileSync(config, JSON.stringify(content));
  rmSync(join(DIST, "types"), { recursive: true, force: true });
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", config], { stdio: "inherit" });
  rmSync(config);
  if (status !== 0) throw new Error("the TypeScript compiler found errors");
  say("build: dist/types");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildAll({ types: process.argv.includes("--types") });
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
