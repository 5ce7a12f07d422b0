import assert from "node:assert/strict";
import { test } from "node:test";
import { mountTableReader } from "./mounts.ts";

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
