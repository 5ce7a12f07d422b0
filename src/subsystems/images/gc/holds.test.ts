import assert from "node:assert/strict";
import { test } from "node:test";
import { Holds } from "./holds.ts";

const ID = `sha256:${"a".repeat(64)}`;

test("a held image is not removed, and one held in between neither", async () => {
  const holds = new Holds();
  const mark = holds.mark();
  let removed = 0;
  const remove = async () => {
    removed += 1;
  };
  const held = holds.hold("nginx", "default/web (c)");
  assert.deepEqual(holds.holdersOf(["docker.io/library/nginx:latest"]), ["default/web (c)"]);
  assert.equal(
    await holds.removeUnlessHeld([ID, "docker.io/library/nginx:latest"], mark, remove),
    false,
  );
  held.release();
  held.release();
  assert.deepEqual(holds.holdersOf(["nginx"]), []);
  assert.equal(
    await holds.removeUnlessHeld([ID, "nginx"], mark, remove),
    false,
    "held since the mark",
  );
  assert.equal(await holds.removeUnlessHeld([ID, "nginx"], holds.mark(), remove), true);
  assert.equal(removed, 1);
});

test("callers during a removal wait for its end and get its result", async () => {
  const holds = new Holds();
  const { promise, resolve } = Promise.withResolvers<void>();
  const before = holds.mark();
  const removal = holds.removeUnlessHeld([ID, "nginx"], before, () => promise);
  let through = false;
  const waiting = holds.untilNotRemoved(["nginx"]).then(() => {
    through = true;
  });
  await new Promise((done) => setImmediate(done));
  assert.equal(through, false);
  resolve();
  await Promise.all([removal, waiting]);
  assert.equal(holds.removedSince(ID, before), true);
  assert.equal(holds.removedSince(ID, holds.mark()), false);
});

test("a removal that fails counts as tried, and lets others go on", async () => {
  const holds = new Holds();
  const mark = holds.mark();
  const remove = () => Promise.reject(new Error("read-only"));
  await assert.rejects(holds.removeUnlessHeld([ID], mark, remove), /read-only/);
  await holds.untilNotRemoved([ID]);
  assert.equal(holds.removedSince(ID, mark), true);
});
