// In the agent's bundle private members of classes are plain ones with names of their own. V8's interpreter, in which most of the
// agent runs, finds a plain property where it stands, and a private one by two calls: TypeScript has checked that nobody else uses them.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LIST = join(import.meta.dirname, "list-private-names.cjs");
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A plugin for esbuild: TypeScript files below `folder` are bundled with plain names for their private ones. */
export function plainPrivateNames(folder) {
  let placesOf;
  return {
    name: "private-names",
    setup(build) {
      build.onLoad({ filter: /\.ts$/, namespace: "file" }, ({ path }) => {
        placesOf ??= listPrivateNames(folder);
        const found = placesOf.get(path);
        if (found === undefined || found.places.length === 0) return undefined;
        return { contents: withPlainNames(readFileSync(path, "utf8"), found), loader: "ts" };
      });
    },
  };
}

/** The name in the source of a member with a plain name; any other name is as it is. */
export function sourceName(name) {
  return /^(.+)\$\d+_[0-9a-z]+$/.exec(name)?.[1] ?? name;
}

function listPrivateNames(folder) {
  const files = globSync("**/*.ts", { cwd: folder })
    .filter((file) => !/\.test\.ts$/.test(file))
    // The same names in every build.
    .sort()
    .map((file) => join(folder, file));
  const argv = ["--expose-internals", "--no-warnings", LIST];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    input: JSON.stringify(files),
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (status !== 0) throw new Error(`private names could not be listed: ${stderr}`);
  const all = JSON.parse(stdout);
  return new Map(files.map((file, i) => [file, { places: all[i], id: i.toString(36) }]));
}

/** `#name` becomes `name$<class>_<file>`: no other class has a member of that name. */
function withPlainNames(text, { places, id }) {
  let plain = "";
  let at = 0;
  for (const [start, end, number] of places) {
    // Blanking out types moves nothing, or this would cut up another word.
    if (text[start] !== "#") throw new Error(`no private name at character ${start}`);
    plain += `${text.slice(at, start)}${text.slice(start + 1, end)}$${number}_${id}`;
    at = end;
  }
  return plain + text.slice(at);
}
