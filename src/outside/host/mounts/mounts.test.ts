import assert from "node:assert/strict";
import { test } from "node:test";
import { mountTableReader } from "./mounts.ts";
import { mountPointsWithin, parseMountinfo, parseMountinfoAbout } from "./parse-mountinfo.ts";

test("mountTableReader parses the table again only when it has changed", () => {
  const line = (id: number, path: string) =>
    `${id} 1 8:1 / ${path} rw shared:1 - ext4 /dev/sda rw\n`;
  let text = line(1, "/");
  const read = mountTableReader(() => text);
  const first = read();
  assert.deepEqual(
    first.map(({ mountPoint }) => mountPoint),
    ["/"],
  );
  assert.equal(read(), first);
  text += line(2, "/data");
  assert.deepEqual(
    read().map(({ mountPoint }) => mountPoint),
    ["/", "/data"],
  );
  assert.deepEqual(
    mountTableReader()().find(({ mountPoint }) => mountPoint === "/")?.mountPoint,
    "/",
  );
});

test("parseMountinfoAbout has every mount at a path and beneath it, whatever its name is", () => {
  const points = [
    "/",
    "/pods",
    "/pods/a",
    "/pods/a/v",
    "/pods/ab",
    "/x/pods/a",
    "/pods/b\\040c",
    "/pods/b\\040c/v",
  ];
  const text = points
    .map((point, i) => `${i} 1 8:1 / ${point} rw shared:1 - ext4 /dev/sda rw\n`)
    .join("");
  const all = parseMountinfo(text);
  for (const path of ["/", "/pods", "/pods/a", "/pods/b c", "/nowhere", "", "/pods/a/v"]) {
    const few = parseMountinfoAbout(text, path);
    assert.deepEqual(mountPointsWithin(few, path), mountPointsWithin(all, path), path);
  }
  const idsAbout = (path: string) => parseMountinfoAbout(text, path).map(({ mountId }) => mountId);
  assert.deepEqual(idsAbout("/pods/a/v"), [3, 6, 7], "that one and those with escapes");
});
