import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { identifyPod } from "../../api/pod-identity.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createFiles } from "../../outside/host/files/files.ts";
import { ContainerLinks, linkName } from "./container-links.ts";

const base = mkdtempSync(join(tmpdir(), "nodelet-links-"));
after(() => rmSync(base, { recursive: true }));

const pod = identifyPod({ metadata: { name: "web", namespace: "shop", uid: "u1" } });
let folder: string;
let root: string;
let links: ContainerLinks;
let warnings: number;
let count = 0;
beforeEach(() => {
  count += 1;
  root = join(base, `logs${count}`);
  folder = join(base, `links${count}`);
  mkdirSync(join(root, "shop_web_u1", "c"), { recursive: true });
  warnings = 0;
  links = new ContainerLinks(
    { folder, logs: root },
    {
      files: createFiles({ clock: createSystemClock(), log: silentLog }),
      log: { ...silentLog, warn: () => (warnings += 1) },
    },
  );
});

const attempt = (restartCount: number) => ({ pod, container: "c", restartCount });
const name = (id: string) => `web_shop_c-${id}.log`;

describe("ContainerLinks", () => {
  test("links a container's log when it has started, and takes the link away with it", async () => {
    writeFileSync(join(root, "shop_web_u1/c/2.log"), "x");
    links.created("abc", attempt(2));
    assert.equal(existsSync(folder), false);
    await links.started("abc");
    assert.equal(readlinkSync(join(folder, name("abc"))), join(root, "shop_web_u1/c/2.log"));
    await links.started("abc");
    await links.removed("abc", attempt(2));
    assert.deepEqual(readdirSync(folder), []);
    assert.equal(warnings, 0);
  });

  test("makes no link to a log that is not there", async () => {
    links.created("abc", attempt(0));
    await links.started("abc");
    assert.equal(existsSync(folder), false);
  });

  test("removes links that an agent made before it was started again, and no others", async () => {
    mkdirSync(folder);
    symlinkSync(join(root, "x"), join(folder, name("abc")));
    symlinkSync(join(root, "x"), join(folder, name("abcd")));
    writeFileSync(join(folder, "web_shop_c-abc.log.txt"), "");
    await links.removed("abc", attempt(0));
    assert.deepEqual(readdirSync(folder).sort(), [name("abcd"), "web_shop_c-abc.log.txt"].sort());
  });

  test("sweeps links that lead nowhere twice, but neither files nor links that were only rotated", async () => {
    mkdirSync(folder);
    const log = join(root, "shop_web_u1/c/0.log");
    symlinkSync(join(root, "gone"), join(folder, name("dead")));
    symlinkSync(log, join(folder, name("rotating")));
    writeFileSync(join(folder, "file.log"), "");
    symlinkSync(join(root, "gone"), join(folder, "other.txt"));
    await links.sweep();
    assert.equal(readdirSync(folder).length, 4);
    writeFileSync(log, "x");
    await links.sweep();
    assert.deepEqual(
      readdirSync(folder).sort(),
      ["file.log", "other.txt", name("rotating")].sort(),
    );
    assert.equal(lstatSync(join(folder, name("rotating"))).isSymbolicLink(), true);
  });

  test("sweeps with one request for all links; where that fails, with one for each", async () => {
    mkdirSync(folder);
    writeFileSync(join(root, "shop_web_u1/c/0.log"), "x");
    for (const id of ["a", "b"])
      symlinkSync(join(root, "shop_web_u1/c/0.log"), join(folder, name(id)));
    for (const id of ["dead", "gone"]) symlinkSync(join(root, "gone"), join(folder, name(id)));
    const files = createFiles({ clock: createSystemClock(), log: silentLog });
    const asked: string[] = [];
    let fails = false;
    const swept = new ContainerLinks(
      { folder, logs: root },
      {
        files: {
          ...files,
          facts: (path, options) => {
            asked.push("one");
            return files.facts(path, options);
          },
          factsOfAll: async (paths, options) => {
            asked.push(`all ${paths.length}`);
            if (fails) throw new OutsideError("deadline", "no answer");
            return await files.factsOfAll(paths, options);
          },
        },
        log: silentLog,
      },
    );
    await swept.sweep();
    assert.deepEqual(asked.splice(0), ["all 4"]);
    fails = true;
    await swept.sweep();
    assert.deepEqual(asked, ["all 4", "one", "one", "one", "one"]);
    assert.deepEqual(readdirSync(folder).sort(), [name("a"), name("b")].sort());
  });

  test("goes on without links where they cannot be made", async () => {
    writeFileSync(folder, "a file in the way");
    writeFileSync(join(root, "shop_web_u1/c/0.log"), "x");
    links.created("abc", attempt(0));
    await links.started("abc");
    assert.equal(warnings, 1);
  });
});

test("linkName is cut to what a file system takes", () => {
  const long = { ...attempt(0), container: "c".repeat(300) };
  assert.equal(linkName(attempt(0), "id"), "web_shop_c-id.log");
  assert.equal(linkName(long, "id").length, 255);
  assert.ok(linkName(long, "id").endsWith("c.log"));
});
