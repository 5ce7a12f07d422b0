import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InvariantError } from "./errors.ts";
import { Topic } from "./topic.ts";

const LIMIT = 8;

/** An item whose reading publishes `publishes`, and throws where `throws` says so. */
interface Item {
  readonly id: number;
  readonly key?: string;
  readonly publishes: readonly Item[];
  readonly throws: boolean;
}

const items = fc.letrec<{ item: Item }>((tie) => ({
  item: fc.record({
    id: fc.nat(99),
    key: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    publishes: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie("item"), { maxLength: 2 })),
    throws: fc.boolean(),
  }) as fc.Arbitrary<Item>,
})).item;

/** Of what waits together only the latest of each key is read, and the rest in the order of publishing. */
function shared(waiting: readonly Item[]): readonly Item[] {
  return waiting.filter(
    ({ key }, at) => key === undefined || !waiting.slice(at + 1).some((later) => later.key === key),
  );
}

/** Items read, in order, when `first` is published before the reader starts and `later` after that. */
function expected(first: readonly Item[], later: readonly Item[]): readonly number[] {
  const read: number[] = [];
  const readAll = (start: readonly Item[]) => {
    let queue = shared(start);
    while (queue.length > 0) {
      const [next, ...rest] = queue as readonly [Item, ...Item[]];
      read.push(next.id);
      queue = shared([...rest, ...next.publishes]);
    }
  };
  readAll(first);
  for (const item of later) readAll([item]);
  return read;
}

test("Topic reads everything once, in order, whenever its reader comes and whatever reading publishes", () => {
  fc.assert(
    fc.property(
      fc.array(items, { maxLength: LIMIT }),
      fc.array(items, { maxLength: LIMIT }),
      (first, later) => {
        const topic = new Topic<Item>({ limit: 1_000, coalesce: ({ key }) => key });
        const read: number[] = [];
        for (const item of first) topic.publish(item);
        assert.equal(topic.waiting, shared(first).length, "nothing is dropped before the reader");
        const swallow = (work: () => void) => {
          try {
            work();
          } catch (error) {
            assert.equal((error as Error).message, "reader");
          }
        };
        swallow(() =>
          topic.drain(({ id, publishes, throws }) => {
            read.push(id);
            for (const item of publishes) topic.publish(item);
            if (throws) throw new Error("reader");
          }),
        );
        for (const item of later) swallow(() => topic.publish(item));
        assert.deepEqual(read, expected(first, later));
        assert.equal(topic.waiting, 0);
      },
    ),
  );
});

test("Topic hands an error of its reader to the publisher", () => {
  const topic = new Topic<string>({ limit: LIMIT });
  topic.publish("before");
  const fail = (item: string) => {
    throw new Error(`cannot read ${item}`);
  };
  assert.throws(() => topic.drain(fail), /cannot read before/);
  assert.throws(() => topic.publish("after"), /cannot read after/);
});

test("Topic is bounded, and throws before anything is lost", () => {
  const topic = new Topic<number>({ limit: LIMIT });
  const sent = Array.from({ length: LIMIT }, (_, i) => i);
  for (const i of sent) topic.publish(i);
  assert.throws(() => topic.publish(LIMIT), InvariantError);
  const read: number[] = [];
  topic.drain((i) => read.push(i));
  assert.deepEqual(read, sent);
});

test("Topic of items that share a key never fills up", () => {
  const topic = new Topic<number>({ limit: 1, coalesce: () => "same" });
  for (let i = 0; i < 100; i += 1) topic.publish(i);
  const read: number[] = [];
  topic.drain((i) => read.push(i));
  assert.deepEqual(read, [99]);
});

test("Topic has one reader", () => {
  const topic = new Topic<number>({ limit: LIMIT });
  topic.drain(() => {});
  assert.throws(() => topic.drain(() => {}), InvariantError);
});
