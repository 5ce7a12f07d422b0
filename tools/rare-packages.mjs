// Packages that few agents ever load are files of their own beside the bundles: their text would otherwise stay in the
// memory of every process. A process opens these files when it starts and reads them when it first needs one, so that
// it gets the versions it was built with even after an upgrade has put others in their place.
import { hash } from "node:crypto";
import { build } from "esbuild";

/** Name of the function in a bundle that loads a file. */
const LOAD = "__loadRare";
const NAMESPACE = "rare-package";

/** Whether an input of a bundle stands for such a package, and is no file. */
export function isRarePackage(path) {
  return path.startsWith(`${NAMESPACE}:`);
}

/**
 * Bundles packages, `groups` being their names by the name of the file they are in. Gives the text of each file, and
 * what a bundle needs that loads them from `folder`, a path relative to its own: a plugin for esbuild and a banner.
 */
export async function rarePackages(groups, folder, options) {
  const files = Object.fromEntries(
    await Promise.all(
      Object.keys(groups).map(async (name) => [name, await bundleGroup(groups, name, options)]),
    ),
  );
  const digests = Object.fromEntries(
    Object.entries(files).map(([name, { text }]) => [name, hash("sha256", text)]),
  );
  const values = JSON.stringify({ groups, digests });
  const banner = `const ${LOAD}=(${openRare})(require,__dirname+${JSON.stringify(`/${folder}`)},${values});`;
  return { files, banner, plugin: pluginFor(Object.values(groups).flat()) };
}

async function bundleGroup(groups, name, options) {
  const own = groups[name];
  const others = Object.values(groups).flat();
  const members = own.map((each) => `${JSON.stringify(each)}: require(${JSON.stringify(each)})`);
  const { outputFiles, metafile } = await build({
    ...options,
    stdin: {
      contents: `module.exports = {${members.join(",")}};`,
      resolveDir: import.meta.dirname,
    },
    external: [...(options.external ?? []), ...others.filter((each) => !own.includes(each))],
    bundle: true,
    format: "cjs",
    // What asks for another group gets it from the bundle's function, which knows no `import()`.
    supported: { "dynamic-import": false },
    sourcemap: false,
    write: false,
    metafile: true,
  });
  return { text: outputFiles[0].text, inputs: Object.keys(metafile.inputs) };
}

/** Has imports of the packages ask the function of the banner. */
function pluginFor(packages) {
  const escaped = packages.map((name) => name.replaceAll("/", String.raw`\/`));
  const filter = new RegExp(`^(?:${escaped.join("|")})$`);
  return {
    name: NAMESPACE,
    setup(on) {
      on.onResolve({ filter }, ({ path }) => ({ path, namespace: NAMESPACE }));
      on.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: `module.exports = ${LOAD}(${JSON.stringify(path)});`,
      }));
    },
  };
}

/** Stands in bundles as text: uses nothing from outside. Gives the function that loads a package by its name. */
function openRare(require, folder, { groups, digests }) {
  const { closeSync, openSync, readFileSync } = require("node:fs");
  const pathOf = (name) => `${folder}/${name}.cjs`;
  const packages = Object.values(groups).flat();
  const opened = new Map();
  for (const name of Object.keys(groups)) {
    try {
      opened.set(name, openSync(pathOf(name)));
    } catch {
      // Who needs it gets the error then.
    }
  }
  const readAndClose = (descriptor) => {
    try {
      return readFileSync(descriptor, "utf8");
    } finally {
      closeSync(descriptor);
    }
  };
  const loaded = new Map();
  const load = (name) => {
    const path = pathOf(name);
    const text = readAndClose(opened.get(name) ?? openSync(path));
    opened.delete(name);
    if (require("node:crypto").hash("sha256", text) !== digests[name])
      throw new Error(`${path} is not of the version that this process runs`);
    const { compileFunction } = require("node:vm");
    const parameters = ["module", "require", "__filename", "__dirname"];
    const program = compileFunction(text, parameters, { filename: path });
    const module = { exports: {} };
    const ask = (id) => (packages.includes(id) ? loadRare(id) : require(id));
    program(module, ask, path, folder);
    return module.exports;
  };
  const loadRare = (id) => {
    const [name] = Object.entries(groups).find(([, members]) => members.includes(id));
    if (!loaded.has(name)) loaded.set(name, load(name));
    return loaded.get(name)[id];
  };
  return loadRare;
}
