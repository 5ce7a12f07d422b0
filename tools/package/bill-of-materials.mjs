// What is inside the bundles, in CycloneDX 1.6: exactly the packages whose code esbuild has taken in, and Node. A list
// made from the lock file would name packages that are installed and never shipped.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../setup/root.mjs";

/** The npm packages that bring Node, as optional dependencies of ours. */
const NODE = /^node_modules\/node-linux-/;

/** Packages that these files of bundles come from, as folders of package-lock.json, sorted. */
export function packagesOf(inputs, packages) {
  const used = new Set(inputs.map(packageFolder));
  return Object.keys(packages)
    .filter((path) => path !== "" && used.has(path))
    .toSorted();
}

/** Writes `nodelet-VERSION.cdx.json` for bundles of these files; gives its path. */
export function writeBillOfMaterials(out, version, inputs) {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const nodes = Object.keys(packages).filter((path) => NODE.test(path));
  const paths = [...new Set([...packagesOf(inputs, packages), ...nodes])].toSorted();
  const components = paths.map((path) => component(path, packages[path]));
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialNumber(components, version),
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": `pkg:npm/nodelet@${version}`,
        name: "nodelet",
        version,
        purl: `pkg:npm/nodelet@${version}`,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components,
    dependencies: [
      { ref: `pkg:npm/nodelet@${version}`, dependsOn: components.map((each) => each["bom-ref"]) },
    ],
  };
  const file = join(out, `nodelet-${version}.cdx.json`);
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  return file;
}

/** The folder of the package that a source file belongs to; empty for our own sources. */
function packageFolder(input) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0] ?? "";
}

function component(path, { version, license, integrity }) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    scope: NODE.test(path) ? "optional" : "required",
    ...(license && { licenses: [licenseOf(license)] }),
    ...(integrity && { hashes: [hashOf(integrity)] }),
  };
}

function licenseOf(text) {
  return /[\s(]/.test(text)
    ? { expression: text.replace(/^\((.*)\)$/, "$1") }
    : { license: { id: text } };
}

function hashOf(integrity) {
  const [algorithm, digest] = integrity.split("-");
  const content = Buffer.from(digest, "base64").toString("hex");
  return { alg: algorithm.toUpperCase().replace("SHA", "SHA-"), content };
}

/** A UUID of what is listed (RFC 9562, version 8), so that the same list has the same number. */
function serialNumber(components, version) {
  const digest = createHash("sha256")
    .update(JSON.stringify([version, components]))
    .digest();
  digest[6] = (digest[6] & 0x0f) | 0x80;
  digest[8] = (digest[8] & 0x3f) | 0x80;
  const hex = digest.subarray(0, 16).toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `urn:uuid:${[...parts, hex.slice(20)].join("-")}`;
}
