import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { buildImage } from "./build-image.ts";
import { writeFolderLayer } from "./folder-layer.ts";
import { readImageArchive } from "./read-archive.ts";

const { signal } = new AbortController();
const NAME = "localhost/app:1";

/** Runs `use` with an empty folder for files and one beside it. */
const withFolders = (use: (root: string, beside: string) => Promise<void>) =>
  withTemporaryFolder(async (folder) => {
    const [root, beside] = [
      join(realpathSync(folder), "root"),
      join(realpathSync(folder), "beside"),
    ];
    mkdirSync(root);
    mkdirSync(beside);
    await use(root, beside);
  });

const layerOf = (folder: string, owner = { uid: 0, gid: 0 }) => ({
  folder,
  owner,
  except: "/nowhere",
  signal,
});

/** Builds the image of a folder into a file. */
async function build(root: string, file: string, owner?: { uid: number; gid: number }) {
  const image = {
    layer: layerOf(root, owner),
    names: [NAME],
    config: { entrypoint: ["/app"], env: { A: "b" } },
    architecture: "amd64",
    onProgress: () => {},
  };
  return await buildImage(image, file);
}

/** The layer's bytes. */
async function layer(folder: string, onBytes: (bytes: Uint8Array) => void = () => {}) {
  const parts: Buffer[] = [];
  const skipped = await writeFolderLayer(layerOf(folder), async (bytes) => {
    parts.push(Buffer.from(bytes));
    onBytes(bytes);
  });
  return { bytes: Buffer.concat(parts), skipped };
}

/** Lists a layer with the machine's tar, without times. */
function listed(bytes: Buffer): readonly string[] {
  const options = { input: bytes, encoding: "utf8", env: { LC_ALL: "C", TZ: "UTC" } } as const;
  const text = execFileSync("/bin/tar", ["-tv", "--numeric-owner", "--full-time"], options);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/ +/g, " ").replace(" 1970-01-01 00:00:00", ""));
}

function fill(root: string, order: "up" | "down"): void {
  const steps = [
    () => writeFileSync(join(root, "app"), "program"),
    () => writeFileSync(join(root, "é"), ""),
    () => mkdirSync(join(root, "d/e"), { recursive: true }),
    () => symlinkSync("../../../../etc/passwd", join(root, "link")),
    () => symlinkSync("/absolute", join(root, "away")),
  ];
  for (const step of order === "up" ? steps : steps.toReversed()) step();
  writeFileSync(join(root, "d/e/long"), "x".repeat(300_000));
  linkSync(join(root, "d/e/long"), join(root, "d/second"));
  chmodSync(join(root, "app"), 0o4755);
  chmodSync(join(root, "d"), 0o1777);
  chmodSync(join(root, "d/e"), 0o700);
  for (const name of ["é", "d/e/long"]) chmodSync(join(root, name), 0o640);
}

test("writeFolderLayer keeps modes and links, and follows none", () =>
  withFolders(async (root) => {
    fill(root, "up");
    const { bytes, skipped } = await layer(root);
    assert.deepEqual(skipped, []);
    assert.deepEqual(listed(bytes), [
      "-rwsr-xr-x 0/0 7 app",
      "lrwxrwxrwx 0/0 0 away -> /absolute",
      "drwxrwxrwt 0/0 0 d/",
      "drwx------ 0/0 0 d/e/",
      "-rw-r----- 0/0 300000 d/e/long",
      "hrw-r----- 0/0 0 d/second link to d/e/long",
      "lrwxrwxrwx 0/0 0 link -> ../../../../etc/passwd",
      "-rw-r----- 0/0 0 \\303\\251",
    ]);
  }));

test("buildImage: the same content gives the same bytes, wherever and whenever it was written", () =>
  withFolders(async (first, second) => {
    fill(first, "up");
    fill(second, "down");
    utimesSync(join(second, "app"), 1, 1);
    const files = [`${first}.tar`, `${second}.tar`] as const;
    const built = await build(first, files[0]);
    assert.deepEqual(await build(second, files[1]), built);
    assert.ok(readFileSync(files[0]).equals(readFileSync(files[1])));
    const owned = await build(second, `${second}-2.tar`, { uid: 1000, gid: 1000 });
    assert.notEqual(owned.id, built.id);
  }));

test("buildImage writes an OCI archive whose digests hold, and docker's list of images", () =>
  withFolders(async (root, beside) => {
    fill(root, "up");
    const file = `${root}.tar`;
    const { id, sizeBytes } = await build(root, file);
    assert.deepEqual(readImageArchive(file, undefined).names, [NAME]);
    execFileSync("tar", ["-xf", file, "-C", beside]);
    const read = (path: string) => readFileSync(join(beside, path));
    const blob = (digest: string) => {
      const bytes = read(`blobs/${digest.replace(":", "/")}`);
      assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest);
      return bytes;
    };
    const [entry] = JSON.parse(read("index.json").toString()).manifests;
    const manifest = JSON.parse(blob(entry.digest).toString());
    const config = JSON.parse(blob(manifest.config.digest).toString());
    assert.equal(manifest.config.digest, id);
    assert.equal(blob(manifest.layers[0].digest).length, sizeBytes);
    assert.equal(manifest.layers[0].size, sizeBytes);
    assert.deepEqual(config.rootfs.diff_ids, [manifest.layers[0].digest]);
    assert.deepEqual(config.config.Entrypoint, ["/app"]);
    assert.ok(config.config.Env.includes("A=b"));
    const [docker] = JSON.parse(read("manifest.json").toString());
    assert.deepEqual(docker.RepoTags, [NAME]);
    assert.ok(read(docker.Layers[0]).length === sizeBytes && read(docker.Config).length > 0);
  }));

test("writeFolderLayer skips special files, and the folder that it must not include", () =>
  withFolders(async (root) => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    mkdirSync(join(root, "scratch"));
    writeFileSync(join(root, "scratch/large"), "x");
    writeFileSync(join(root, "file"), "");
    const names: string[] = [];
    const skipped = await writeFolderLayer(
      { ...layerOf(root), except: join(root, "scratch") },
      async (bytes) => void names.push(Buffer.from(bytes).toString("latin1", 0, 4)),
    );
    assert.deepEqual(skipped, [{ path: "pipe", why: "named pipe" }]);
    assert.ok(names.includes("file") && !names.includes("scra"));
  }));

test("writeFolderLayer refuses a folder that is replaced by a link while it is read", () =>
  withFolders(async (root, beside) => {
    mkdirSync(join(root, "a"));
    writeFileSync(join(beside, "secret"), "secret");
    const swap = (bytes: Uint8Array) => {
      if (!Buffer.from(bytes).toString("latin1").startsWith("a/\0")) return;
      renameSync(join(root, "a"), join(root, "b"));
      symlinkSync(beside, join(root, "a"));
    };
    await assert.rejects(layer(root, swap), /root\/a changed while it was being read$/);
  }));

test("writeFolderLayer stays in the folder that it has opened when a link takes its place", () =>
  withFolders(async (root, beside) => {
    mkdirSync(join(root, "a"));
    for (const name of ["1", "2"]) writeFileSync(join(root, "a", name), "inside");
    for (const name of ["1", "2"]) writeFileSync(join(beside, name), "secret");
    const swap = (bytes: Uint8Array) => {
      if (!Buffer.from(bytes).toString("latin1").startsWith("a/1\0")) return;
      renameSync(join(root, "a"), join(root, "b"));
      symlinkSync(beside, join(root, "a"));
    };
    const { bytes } = await layer(root, swap);
    assert.equal(bytes.includes("secret"), false);
    assert.equal(bytes.toString("latin1").split("inside").length, 3);
  }));

const REFUSED: readonly (readonly [string, (root: string) => void, RegExp])[] = [
  ["an empty folder", () => {}, /root is empty$/],
  [
    "a whiteout",
    (root) => writeFileSync(join(root, ".wh.passwd"), ""),
    /cannot store .*\.wh\.passwd: in a layer, names that begin with \.wh\. mark removed files$/,
  ],
  [
    "a name that is not UTF-8",
    (root) => writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0xff)]), ""),
    /cannot store ".*": its name is not UTF-8$/,
  ],
];

for (const [what, prepare, expected] of REFUSED)
  test(`writeFolderLayer refuses ${what}`, () =>
    withFolders(async (root) => {
      prepare(root);
      await assert.rejects(layer(root), expected);
    }));
