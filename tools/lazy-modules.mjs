// Bundles ask for some of Node's modules only when one of their names is first used. Each takes memory for as long as
// the process runs (node:crypto 2 MiB, node:zlib 1.4, node:child_process 1.1), and most file workers use none of them.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const NAMESPACE = "lazy-module";

/** A plugin for esbuild: imports of these modules become objects whose members load the module. */
export function lazyModules(names) {
  const escaped = names.map((name) => name.replaceAll(/[/:]/g, String.raw`\$&`));
  const filter = new RegExp(`^(?:${escaped.join("|")})$`);
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter }, ({ path, namespace }) =>
        namespace === NAMESPACE ? { path, external: true } : { path, namespace: NAMESPACE },
      );
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: members(path),
      }));
    },
  };
}

/** Whether an input of a bundle is one of these objects, and no file. */
export function isLazyModule(path) {
  return path.startsWith(`${NAMESPACE}:`);
}

/** A module in CommonJS with a getter for each member that Node's module has. */
function members(path) {
  const getters = Object.keys(require(path)).map(
    (name) => `get ${JSON.stringify(name)}() { return require(${JSON.stringify(path)}).${name}; },`,
  );
  return `module.exports = {\n${getters.join("\n")}\n};`;
}
