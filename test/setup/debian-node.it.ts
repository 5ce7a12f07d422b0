// Setup with the Node that Debian 12 has itself, unpacked beside the machine's own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fetchPackages } from "../../tools/debian-suite.mjs";

const ROOT = join(import.meta.dirname, "../..");

/** Node, the libraries that no other program of the machine may need, and the parts of Node that Debian keeps outside of it. */
const PACKAGES = [
  "nodejs",
  "libnode108",
  "libuv1",
  "libc-ares2",
  "libnghttp2-14",
  "libicu72",
  "libbrotli1",
  "node-acorn",
  "node-busboy",
  "node-cjs-module-lexer",
  "node-undici",
];

/** Runs a script with that Node in mounts of its own, where it finds its parts in /usr/share/nodejs. */
function withDebianNode(script: string): { readonly status: number | null; readonly all: string } {
  const folders = fetchPackages("bookworm", PACKAGES);
  const shares = folders.map((folder) => join(folder, "usr/share")).join(":");
  const libraries = ["x86_64", "aarch64"].flatMap((processor) =>
    folders.map((folder) => join(folder, "usr/lib", `${processor}-linux-gnu`)),
  );
  const mounted =
    'mount -t overlay -o "lowerdir=$SHARES:/usr/share" overlay /usr/share && exec sh -c "$SCRIPT"';
  const { status, stdout, stderr } = spawnSync("unshare", ["--mount", "sh", "-c", mounted], {
    encoding: "utf8",
    cwd: ROOT,
    env: {
      ...process.env,
      SHARES: shares,
      SCRIPT: script,
      NODE: join(folders[0] ?? "", "usr/bin/node"),
      LD_LIBRARY_PATH: libraries.join(":"),
    },
  });
  return { status, all: stdout + stderr };
}

test("setup runs with Debian 12's own Node, and hands over to the Node of the checkout", () => {
  const version = withDebianNode('"$NODE" --version');
  assert.match(version.all, /^v18\./);
  const started = withDebianNode(
    '"$NODE" tools/setup.mjs check -- sh -c \'unset LD_LIBRARY_PATH; "$NODELET_NODE" --version\'',
  );
  assert.equal(started.status, 0, started.all);
  assert.match(started.all, /^v26\./m);
});
