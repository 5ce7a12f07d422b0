import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { silentLog } from "../../kit/log.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { Outbox } from "./outbox.ts";
import { Spool } from "./spool.ts";

test("an event that arrives while it is written to disk does not count as spooled", async () => {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  const written = Promise.withResolvers<void>();
  const append = files.append.bind(files);
  files.append = async (...order) => {
    await written.promise;
    await append(...order);
  };
  const spooled: string[] = [];
  const spool = new Spool(
    { path: "/state/events/waiting.jsonl" },
    {
      state: new StateFiles({ files, clock, log: silentLog }),
      clock,
      onSpooled: ({ event }) => spooled.push(event.reason ?? ""),
    },
  );
  const outbox = new Outbox({ maxEvents: 10, maxBytes: 1e6 });
  await spool.open(outbox, () => undefined);
  for (const name of ["a", "b"])
    outbox.add({
      event: {
        metadata: { namespace: "ns", name },
        involvedObject: { kind: "Pod", name },
        reason: `Killing${name}`,
      },
      patch: undefined,
      since: 0,
    });
  const writing = spool.sync(true);
  await clock.advance(1);
  const first = outbox.take();
  assert.ok(first);
  outbox.settle(first, true);
  written.resolve();
  await writing;
  assert.deepEqual(spooled, ["Killingb"]);
  assert.equal(first.spooled, false);
  await spool.sync(true);
  const text = (await files.readText("/state/events/waiting.jsonl", { maxBytes: 1e6 })) ?? "";
  assert.match(text, /\{"x":\[1\]\}/, "the file no longer counts it");
});
