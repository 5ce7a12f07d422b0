import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { archiveStream, readImageArchive } from "./read-archive.ts";
import { writeTar } from "./tar.ts";

const OCI = "org.opencontainers.image.ref.name";
const CONTAINERD = "io.containerd.image.name";

async function withArchive(
  files: Readonly<Record<string, unknown>>,
  use: (file: string) => unknown,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-archive-"));
  try {
    const file = join(folder, "x.tar");
    const entries = Object.entries(files).map(([path, value]) => ({
      kind: "file" as const,
      path,
      content: new TextEncoder().encode(JSON.stringify(value)),
    }));
    writeFileSync(file, writeTar(entries));
    await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const index = (...annotations: readonly object[]) => ({
  "blobs/sha256/aa": "layer",
  "oci-layout": { imageLayoutVersion: "1.0.0" },
  "index.json": { manifests: annotations.map((each) => ({ digest: "x", annotations: each })) },
});
const ATTESTATION = { "vnd.docker.reference.type": "attestation-manifest" };

const NAMED: readonly (readonly [string, Readonly<Record<string, unknown>>, readonly string[]])[] =
  [
    [
      "containerd's own annotation",
      index({ [CONTAINERD]: "a.test/b:1", [OCI]: "1" }),
      ["a.test/b:1"],
    ],
    ["a full reference", index({ [OCI]: "a.test/b:2" }), ["a.test/b:2"]],
    [
      "two images and an attestation",
      index({ [OCI]: "a.test/b:1" }, { [OCI]: "a.test/c:1" }, ATTESTATION),
      ["a.test/b:1", "a.test/c:1"],
    ],
    [
      "docker's short names",
      { "manifest.json": [{ RepoTags: ["b:1", "c"] }] },
      ["docker.io/library/b:1", "docker.io/library/c:latest"],
    ],
    [
      "both lists",
      { ...index({ [OCI]: "a.test/b:2" }), "manifest.json": [{ RepoTags: ["z:1"] }] },
      ["a.test/b:2"],
    ],
  ];

for (const [what, files, names] of NAMED)
  test(`\`readImageArchive\` reads ${what}`, () =>
    withArchive(files, (file) => assert.deepEqual(readImageArchive(file, undefined).names, names)));

for (const [what, files] of [
  ["a bare tag", index({ [OCI]: "1.0" })],
  ["no annotations", index({})],
  ["docker without names", { "manifest.json": [{ RepoTags: null, Layers: ["a"] }], a: "layer" }],
] as const)
  test(`\`readImageArchive\` gives the image a name: ${what}`, () =>
    withArchive(files, async (file) => {
      assert.throws(() => readImageArchive(file, undefined), /the image in \S+ has no name/);
      const archive = readImageArchive(file, "a.test/new:1");
      assert.deepEqual(archive.names, ["a.test/new:1"]);
      // The stream for the runtime is an archive again, with the name.
      const fed = join(file, "../fed.tar");
      writeFileSync(fed, await buffer(archiveStream(archive)));
      assert.deepEqual(readImageArchive(fed, undefined).names, ["a.test/new:1"]);
    }));

for (const [what, files, expected] of [
  ["neither list", { "a.json": {} }, /neither index\.json \(OCI\) nor manifest\.json/],
  ["no image", index(), /contains no images/],
  ["a list that is none", { "manifest.json": "x" }, /contains no images/],
] as const)
  test(`\`readImageArchive\` refuses an archive with ${what}`, () =>
    withArchive(files, (file) => assert.throws(() => readImageArchive(file, undefined), expected)));

test("`readImageArchive` refuses one name for two images", () =>
  withArchive(index({ [OCI]: "a.test/b:1" }, { [OCI]: "a.test/c:1" }), (file) =>
    assert.throws(() => readImageArchive(file, "a.test/x:1"), /--name can name only one/),
  ));
