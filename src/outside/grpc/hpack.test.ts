import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ascii, encodeHeaders, type HeaderField, HpackDecoder, HpackError } from "./hpack.ts";

const LIMITS = { tableBytes: 4096, listBytes: 65_536 };

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const shown = (fields: readonly HeaderField[]) =>
  fields.map(({ name, value }) => `${Buffer.from(name)}: ${Buffer.from(value)}`);

/** RFC 7541, appendix C: three requests on one connection each. */
const REQUESTS = [
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
  [
    ":method: GET",
    ":scheme: http",
    ":path: /",
    ":authority: www.example.com",
    "cache-control: no-cache",
  ],
  [
    ":method: GET",
    ":scheme: https",
    ":path: /index.html",
    ":authority: www.example.com",
    "custom-key: custom-value",
  ],
];
const RFC: Readonly<Record<string, readonly string[]>> = {
  "C.3 without Huffman code": [
    "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
    "8286 84be 5808 6e6f 2d63 6163 6865",
    "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
  ],
  "C.4 with Huffman code": [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
  ],
};

for (const [name, blocks] of Object.entries(RFC)) {
  test(`HpackDecoder reads the requests of RFC 7541 ${name}`, () => {
    const decoder = new HpackDecoder(LIMITS);
    assert.deepEqual(
      blocks.map((block) => shown(decoder.decode(bytes(block)))),
      REQUESTS,
    );
  });
}

test("HpackDecoder evicts from a table of 256 bytes as in RFC 7541 C.6", () => {
  const decoder = new HpackDecoder({ ...LIMITS, tableBytes: 256 });
  decoder.decode(
    bytes(
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    ),
  );
  assert.deepEqual(shown(decoder.decode(bytes("4883 640e ffc1 c0bf"))), [
    ":status: 307",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
  ]);
  assert.throws(() => decoder.decode(bytes("c3")), HpackError);
});

test("HpackDecoder marks fields that must never be indexed", () => {
  const [field] = new HpackDecoder(LIMITS).decode(
    bytes("1008 7061 7373 776f 7264 0673 6563 7265 74"),
  );
  assert.equal(field?.neverIndexed, true);
});

const BROKEN: Readonly<Record<string, string>> = {
  "an index of nothing": "be",
  "index 0": "80",
  "a text that ends early": "400a 6375",
  "a block that ends within an integer": "ff",
  "an integer without end": "ffff ffff ffff ffff",
  "a table larger than offered": "3fe2 1f",
  "a table size after a field": "8220",
  "a Huffman padding of zeros": "4081 00",
  "a Huffman padding of a byte": "4082 1fff 00",
};

for (const [name, block] of Object.entries(BROKEN)) {
  test(`HpackDecoder refuses ${name}`, () => {
    assert.throws(() => new HpackDecoder(LIMITS).decode(bytes(block)), HpackError);
  });
}

test("HpackDecoder stops at the limit of a list, also when one byte stands for much", () => {
  const decoder = new HpackDecoder({ tableBytes: 4096, listBytes: 10_000 });
  const field = { name: ascii("x"), value: new Uint8Array(3000).fill(97), neverIndexed: false };
  const literal = encodeHeaders([field]);
  literal[0] = 0x40;
  decoder.decode(literal);
  assert.throws(() => decoder.decode(new Uint8Array(4).fill(0xbe)), /more than 10000 bytes/);
});

test("encodeHeaders writes what HpackDecoder reads", () => {
  const text = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(
      fc.array(
        fc.record(
          { name: text, value: text, neverIndexed: fc.boolean() },
          { noNullPrototype: true },
        ),
        {
          maxLength: 8,
        },
      ),
      (fields) => {
        assert.deepEqual(new HpackDecoder(LIMITS).decode(encodeHeaders(fields)), fields);
      },
    ),
  );
});

test("HpackDecoder ends with fields or HpackError whatever it is given", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (block) => {
      try {
        new HpackDecoder(LIMITS).decode(block);
      } catch (error) {
        assert.ok(error instanceof HpackError);
      }
    }),
    { numRuns: 2000 },
  );
});
