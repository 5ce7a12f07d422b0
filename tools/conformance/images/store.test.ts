// The store of images as a registry serves it.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { layer } from "../../../src/cli/local-images/image-archive.ts";
import { accountFiles, file, folders, link, merged } from "./root-files.ts";
import { blobPath, packImage, readIndex, writeStore } from "./store.ts";

const text = (entry: { kind: string } | undefined) =>
  entry && "content" in entry ? new TextDecoder().decode(entry.content as Uint8Array) : "";

test("a store has manifest, configuration and layers of each name, equal layers once", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-store-"));
  try {
    const shared = layer([file("a", "a", 0o644)]);
    const images = ["one", "other"].map((name) => ({
      names: [`docker.io/library/${name}:1`],
      config: { labels: { name } },
      layers: [shared],
    }));
    const store = join(folder, "store");
    writeStore(store, images);
    const index = readIndex([store]);
    assert.deepEqual(Object.keys(index), ["docker.io/library/one:1", "docker.io/library/other:1"]);
    const layers = Object.values(index).map((digest) => {
      const manifest = JSON.parse(readFileSync(blobPath(store, digest), "utf8"));
      for (const { digest: blob, size } of [manifest.config, ...manifest.layers]) {
        assert.ok(existsSync(blobPath(store, blob)));
        assert.equal(readFileSync(blobPath(store, blob)).length, size);
      }
      return manifest.layers[0].digest;
    });
    assert.equal(new Set(layers).size, 1);
    assert.equal(new Set(Object.values(index)).size, 2);
    assert.equal(packImage(images[0] ?? assert.fail()).digest, index["docker.io/library/one:1"]);
    const third = { names: ["docker.io/library/third:1"], config: {}, layers: [shared] };
    writeStore(join(folder, "second"), [third]);
    assert.deepEqual(readIndex([store, join(folder, "second")]), {
      ...index,
      "docker.io/library/third:1": packImage(third).digest,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("later entries take the place of earlier ones, folders stand before what is in them", () => {
  const entries = merged(
    [link("bin/sh", "busybox"), ...folders(["bin"])],
    [link("bin/sh", "bash")],
  );
  assert.deepEqual(entries, [
    { kind: "directory", path: "bin" },
    { kind: "symlink", path: "bin/sh", target: "bash" },
  ]);
});

test("images have the accounts that tests name", () => {
  const of = (entries: ReturnType<typeof accountFiles>, path: string) =>
    text(entries.find((entry) => entry.path === path));
  const plain = of(accountFiles(), "etc/passwd");
  assert.match(plain, /^nobody:x:65534:65534:/m);
  assert.match(plain, /^www-data:x:33:33:/m);
  assert.doesNotMatch(plain, /user-defined/);
  const own = accountFiles({ userOfImage: true });
  assert.match(of(own, "etc/passwd"), /^user-defined-in-image:x:1000:1000:/m);
  assert.match(of(own, "etc/group"), /^group-defined-in-image:x:50000:user-defined-in-image$/m);
});
