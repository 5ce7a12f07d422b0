// The Debian package: nodelet_VERSION_ARCH.deb, built with dpkg-deb, which sorts and dates all entries by
// SOURCE_DATE_EPOCH. It brings its own Node, as npm has it, byte for byte.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { completionScript } from "../../src/cli/completion/scripts.ts";
import { unitOptions } from "../../src/cli/service/service.ts";
import { renderUnit } from "../../src/cli/service/unit.ts";
import { DEFAULT_PLACES, upPaths } from "../../src/cli/up/paths.ts";
import { nodeFolder } from "./node-runtime.mjs";
import { copyTree, LICENCES, setTimes, writeFile } from "./stage.mjs";

/** Debian's names of the processors that there is a Node for. */
export const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };

/** Who builds the package, by the variables that Debian's tools read (debchange(1)). */
const MAINTAINER = `${process.env.DEBFULLNAME ?? "The nodelet authors"} <${process.env.DEBEMAIL ?? "maintainers@nodelet.example"}>`;

const HOME = "usr/lib/nodelet";
const DATA = join(import.meta.dirname, "debian");
/** Where each shell searches for completions. */
const COMPLETIONS = {
  bash: "usr/share/bash-completion/completions/nodelet",
  zsh: "usr/share/zsh/vendor-completions/_nodelet",
  fish: "usr/share/fish/vendor_completions.d/nodelet.fish",
};

/** Builds a package for each of the processors. */
export async function buildDebianPackage(build) {
  const { stage, work, out, version, epochSeconds, processors, uncompressed } = build;
  const files = [];
  for (const processor of processors) {
    const architecture = ARCHITECTURES[processor];
    const root = join(work, `deb-${architecture}`);
    mkdirSync(root, { mode: 0o755 });
    await install({ root, stage, processor, version, epochSeconds });
    writeControl(root, { version, architecture });
    setTimes(root, epochSeconds);
    const file = join(out, `nodelet_${version}_${architecture}.deb`);
    const compression = uncompressed ? "-Znone" : "-Zxz";
    execFileSync("dpkg-deb", ["--root-owner-group", compression, "--build", root, file], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
      stdio: ["ignore", "ignore", "inherit"],
    });
    files.push(file);
  }
  return files;
}

async function install({ root, stage, processor, version, epochSeconds }) {
  for (const name of ["assets", "bin", "dist", "examples", "package.json"])
    copyTree(join(stage, name), join(root, HOME, name), isOfCommand(processor));
  const node = await nodeFolder(processor);
  copyTree(
    join(node, "bin/node"),
    join(root, HOME, `node_modules/node-linux-${processor}/bin/node`),
  );
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  symlinkSync("../lib/nodelet/bin/nodelet", join(root, "usr/bin/nodelet"));
  for (const [shell, path] of Object.entries(COMPLETIONS))
    writeFile(join(root, path), completionScript(shell));
  for (const name of readdirSync(join(stage, "man")))
    writeFile(
      join(root, `usr/share/man/man1/${name}.gz`),
      compressed(readFileSync(join(stage, "man", name))),
    );
  const documents = join(root, "usr/share/doc/nodelet");
  writeFile(join(documents, "copyright"), readFileSync(join(DATA, "copyright")));
  writeFile(join(documents, "changelog.gz"), compressed(debianChangelog(version, epochSeconds)));
  for (const [name, path] of [
    [LICENCES, join(stage, LICENCES)],
    ["node-LICENSE", join(node, "LICENSE")],
  ])
    writeFile(join(documents, `${name}.gz`), compressed(readFileSync(path)));
  const changes = readFileSync(join(stage, "CHANGELOG.md"));
  writeFile(join(documents, "CHANGELOG.md.gz"), compressed(changes));
  copyTree(join(stage, "README.md"), join(documents, "README.md"));
  writeFile(
    join(root, "usr/share/lintian/overrides/nodelet"),
    readFileSync(join(DATA, "lintian-overrides")),
  );
  copyTree(join(DATA, "etc"), join(root, "etc"));
  mkdirSync(join(root, "etc/nodelet/manifests"), { recursive: true, mode: 0o755 });
  // As `nodelet service install` writes it, for the places that the package has.
  const service = { kind: "own", flags: [], up: upPaths(DEFAULT_PLACES) };
  const unit = renderUnit(unitOptions(service, "/usr/bin/nodelet"));
  writeFile(join(root, "usr/lib/systemd/system/nodelet.service"), unit);
}

/** The library is for those who install from npm; code caches are for the processor that they were made on. */
function isOfCommand(processor) {
  const others =
    processor === process.arch ? "library\\.js|types" : "library\\.js|types|.*\\.code-cache";
  return (path) => !new RegExp(`/dist/(?:${others})$`).test(path);
}

function writeControl(root, { version, architecture }) {
  const kib = Math.ceil(bytesBelow(root) / 1024);
  const control = readFileSync(join(DATA, "control"), "utf8")
    .replace("@VERSION@", version)
    .replace("@ARCHITECTURE@", architecture)
    .replace("@SIZE@", String(kib))
    .replace("@MAINTAINER@", MAINTAINER);
  writeFile(join(root, "DEBIAN/control"), control);
  const conffiles = filesBelow(join(root, "etc")).map((path) => `/etc/${path}\n`);
  writeFile(join(root, "DEBIAN/conffiles"), conffiles.join(""));
  for (const name of ["postinst", "prerm", "postrm"])
    writeFile(join(root, "DEBIAN", name), readFileSync(join(DATA, name)), 0o755);
  writeFile(join(root, "DEBIAN/md5sums"), md5sums(root));
  chmodSync(join(root, "DEBIAN"), 0o755);
}

function md5sums(root) {
  const shipped = filesBelow(root).filter((path) => !/^(DEBIAN|etc)\//.test(path));
  return execFileSync("md5sum", shipped, { cwd: root, encoding: "utf8" });
}

/** The version in Debian's form; what is in it stands in CHANGELOG.md. */
function debianChangelog(version, epochSeconds) {
  const date = new Date(epochSeconds * 1000).toUTCString().replace("GMT", "+0000");
  return [
    `nodelet (${version}) stable; urgency=medium`,
    "",
    "  * New version, see CHANGELOG.md.gz.",
    "",
    ` -- ${MAINTAINER}  ${date}`,
    "",
  ].join("\n");
}

/** As gzip -9n: without a name and a time. */
function compressed(content) {
  return gzipSync(content, { level: 9 });
}

/** Paths of all files and links below a folder, sorted. */
function filesBelow(folder, prefix = "") {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory()) return filesBelow(folder, path);
      return entry.isFile() ? [path] : [];
    });
}

function bytesBelow(folder) {
  return filesBelow(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
}
