// The published package as a folder: what package.json lists under "files", without source maps, and without any
// runtime dependency but Node itself. The bundle needs none; an installation that resolves none pins everything and
// runs no install script of anybody.
import {
  chmodSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildLibrary } from "../build.mjs";
import { ROOT } from "../setup/root.mjs";
import { packagesOf } from "./bill-of-materials.mjs";
import { licenceTexts } from "./licences.mjs";
import { manPages } from "./man-pages.ts";

/** Types of packages that are not installed with ours, for declarations of modules that are not public. */
const EXTERNAL_TYPES = {
  ws: "export interface WebSocket {\n  readonly readyState: number;\n}\n",
  "@bufbuild/protobuf/wire":
    "export interface BinaryReader {\n  readonly pos: number;\n}\nexport interface BinaryWriter {\n  finish(): Uint8Array;\n}\n",
};

/** Fields of package.json that matter only in a checkout. */
const CHECKOUT_ONLY = ["scripts", "dependencies", "devDependencies"];

/** package.json of the checkout. */
export function manifest() {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
}

/** Licences of the packages whose code is inside. */
export const LICENCES = "THIRD-PARTY-LICENSES";

/** Writes the package into an empty folder; the release stands in the manual pages, `inputs` are the bundles' files. */
export async function stagePackage(folder, release, inputs) {
  for (const name of manifest().files) copyTree(join(ROOT, name), join(folder, name), isShipped);
  await buildLibrary(() => {}, { outfile: join(folder, "dist/library.js"), bundled: true });
  replaceExternalTypes(join(folder, "dist/types"));
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  writeFile(join(folder, LICENCES), licenceTexts(packagesOf(inputs, packages), packages));
  const man = manPages(release);
  for (const { name, text } of man) writeFile(join(folder, "man", name), text);
  const published = Object.fromEntries(
    Object.entries(manifest()).filter(([field]) => !CHECKOUT_ONLY.includes(field)),
  );
  published.files.push("man", LICENCES);
  published.man = man.map(({ name }) => `man/${name}`);
  writeFile(join(folder, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
}

/** Writes a file that all may read, with its folders. */
export function writeFile(path, content, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Copies files and folders in the order of their names. Modes become 0644 and 0755: a umask is nobody's business. */
export function copyTree(from, to, isWanted = () => true) {
  if (!isWanted(from)) return;
  if (statSync(from).isDirectory()) {
    mkdirSync(to, { recursive: true, mode: 0o755 });
    chmodSync(to, 0o755);
    for (const name of readdirSync(from).toSorted())
      copyTree(join(from, name), join(to, name), isWanted);
    return;
  }
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, (statSync(from).mode & 0o100) === 0 ? 0o644 : 0o755);
}

/** Gives everything in a folder the same time, so that two builds make the same bytes. */
export function setTimes(folder, epochSeconds) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) setTimes(path, epochSeconds);
    else lutimesSync(path, epochSeconds, epochSeconds);
  }
  lutimesSync(folder, epochSeconds, epochSeconds);
}

function isShipped(path) {
  return !path.endsWith(".map") && !/\/dist\/(\.stamp|library\.js)/.test(path);
}

function replaceExternalTypes(types) {
  for (const [index, [name, text]] of Object.entries(EXTERNAL_TYPES).entries()) {
    const file = join(types, "external", `module-${index + 1}.d.ts`);
    writeFile(file, text);
    for (const path of declarations(types)) {
      const before = readFileSync(path, "utf8");
      const specifier = relative(dirname(path), file).replace(/\.d\.ts$/, ".js");
      const after = before.replaceAll(
        `from "${name}"`,
        `from "${specifier.startsWith(".") ? specifier : `./${specifier}`}"`,
      );
      if (after !== before) writeFileSync(path, after);
    }
  }
}

function declarations(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? declarations(path) : path.endsWith(".d.ts") ? [path] : [];
  });
}
