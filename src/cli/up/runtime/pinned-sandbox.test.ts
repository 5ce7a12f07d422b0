import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { holderOf } from "../taken-ports.ts";
import {
  configOption,
  configuredSandboxImage,
  listeningInode,
  pinnedSandbox,
} from "./pinned-sandbox.ts";

/** From containerd 2.1 and 2.4, shortened. */
const DUMP = `version = 3
root = '/var/lib/containerd'

[plugins]
  [plugins.'io.containerd.cri.v1.images']
    snapshotter = 'overlayfs'

    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'registry.k8s.io/pause:3.10.2'

    [plugins.'io.containerd.cri.v1.images'.registry]
      config_path = ''
`;

test("the sandbox image is the pinned one of the image service", () => {
  const vectors: readonly [dump: string, image: string | undefined][] = [
    [DUMP, "registry.k8s.io/pause:3.10.2"],
    [DUMP.replaceAll("'", '"'), "registry.k8s.io/pause:3.10.2"],
    [DUMP.replace("pinned_images", "other_images"), undefined],
    [DUMP.replace("sandbox = ", "other = "), undefined],
    [DUMP.replace("registry.k8s.io/pause:3.10.2", ""), undefined],
    ["", undefined],
  ];
  for (const [dump, image] of vectors) assert.equal(pinnedSandbox(dump), image, dump);
});

test("containerd's arguments: the configuration is kept, in each spelling", () => {
  const vectors: readonly [args: string[], option: string[]][] = [
    [[], []],
    [["--log-level", "debug"], []],
    [
      ["-l", "debug", "-c", "/a b.toml"],
      ["--config", "/a b.toml"],
    ],
    [
      ["--config", "/a.toml", ""],
      ["--config", "/a.toml"],
    ],
    [["--config=/a.toml"], ["--config", "/a.toml"]],
    [["-config=/a=b.toml"], ["--config", "/a=b.toml"]],
    [["--config"], []],
    [["--configs=/a.toml"], []],
  ];
  for (const [args, option] of vectors) assert.deepEqual(configOption(args), option);
});

test("the socket that listens is found among the connected ones of the same path", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-sandbox-image-"));
  const path = join(folder, "a socket");
  const server = createServer();
  try {
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const inode = listeningInode(readFileSync("/proc/net/unix", "utf8"), path);
    assert.ok(inode !== undefined);
    assert.equal(holderOf({ inode })?.pid, process.pid);
    const image = await configuredSandboxImage(path);
    assert.equal(image, undefined, "a program of another name is not run");
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});

test("a connected socket is not taken for the one that listens", () => {
  const table = `Num       RefCount Protocol Flags    Type St Inode Path
ffff: 00000003 00000000 00000000 0001 03 41 /run/c.sock
ffff: 00000002 00000000 00010000 0001 01 42 /run/c.sock
ffff: 00000002 00000000 00010000 0001 01 43 /run/other.sock
`;
  assert.equal(listeningInode(table, "/run/c.sock"), "42");
  assert.equal(listeningInode(table, "/run/none.sock"), undefined);
});
