import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ascii,
  encodeHeaders,
  type HeaderField,
  HpackDecoder,
  HpackError,
  HpackListError,
} from "./hpack.ts";
import { HUFFMAN_BITS } from "./hpack-tables.ts";

const LIMITS = { tableBytes: 4096, listBytes: 65_536 };

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const shown = (fields: readonly HeaderField[]) =>
  fields.map(({ name, value }) => `${Buffer.from(name)}: ${Buffer.from(value)}`);

/** RFC 7541, appendix C: three requests or answers on one connection each. */
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
const ANSWERS = [
  [
    ":status: 302",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
  ],
  [
    ":status: 307",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
  ],
  [
    ":status: 200",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:22 GMT",
    "location: https://www.example.com",
    "content-encoding: gzip",
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
  ],
];
interface Example {
  readonly tableBytes?: number;
  readonly blocks: readonly string[];
  readonly fields: readonly (readonly string[])[];
}
const RFC: Readonly<Record<string, Example>> = {
  "C.2.1 literal with indexing": {
    blocks: ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "be"],
    fields: [["custom-key: custom-header"], ["custom-key: custom-header"]],
  },
  "C.2.2 literal without indexing": {
    blocks: ["040c 2f73 616d 706c 652f 7061 7468"],
    fields: [[":path: /sample/path"]],
  },
  "C.2.3 literal never indexed": {
    blocks: ["1008 7061 7373 776f 7264 0673 6563 7265 74"],
    fields: [["password: secret"]],
  },
  "C.2.4 indexed": { blocks: ["82"], fields: [[":method: GET"]] },
  "C.3 requests without Huffman code": {
    blocks: [
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ],
    fields: REQUESTS,
  },
  "C.4 requests with Huffman code": {
    blocks: [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ],
    fields: REQUESTS,
  },
  "C.5 answers without Huffman code": {
    tableBytes: 256,
    blocks: [
      "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "4803 3330 37c1 c0bf",
      "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ],
    fields: ANSWERS,
  },
  "C.6 answers with Huffman code": {
    tableBytes: 256,
    blocks: [
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
      "4883 640e ffc1 c0bf",
      "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ],
    fields: ANSWERS,
  },
};

for (const [name, { tableBytes = 4096, blocks, fields }] of Object.entries(RFC)) {
  test(`HpackDecoder reads RFC 7541 ${name}`, () => {
    const decoder = new HpackDecoder({ ...LIMITS, tableBytes });
    assert.deepEqual(
      blocks.map((block) => shown(decoder.decode(bytes(block)))),
      fields,
    );
  });
}

test("HpackDecoder has forgotten what does not fit into its table", () => {
  const decoder = new HpackDecoder({ ...LIMITS, tableBytes: 256 });
  const { blocks = [] } = RFC["C.6 answers with Huffman code"] ?? {};
  for (const block of blocks.slice(0, 2)) decoder.decode(bytes(block));
  assert.throws(() => decoder.decode(bytes("c3")), HpackError);
});

test("HpackDecoder empties its table when it is made smaller, and for an entry larger than it", () => {
  const decoder = new HpackDecoder(LIMITS);
  decoder.decode(bytes("4001 6101 62"));
  assert.deepEqual(shown(decoder.decode(bytes("20 3fe1 1f 82"))), [":method: GET"]);
  assert.throws(() => decoder.decode(bytes("be")), HpackError);
  const small = new HpackDecoder({ ...LIMITS, tableBytes: 34 });
  assert.deepEqual(shown(small.decode(bytes("4001 6101 62"))), ["a: b"]);
  assert.deepEqual(shown(small.decode(bytes("be"))), ["a: b"]);
  assert.deepEqual(shown(small.decode(bytes("4001 6102 6263"))), ["a: bc"]);
  assert.throws(() => small.decode(bytes("be")), HpackError);
});

test("HpackDecoder shows by its changes whether the same bytes mean the same", () => {
  const decoder = new HpackDecoder(LIMITS);
  const changed = (block: string) => {
    const before = decoder.changes;
    decoder.decode(bytes(block));
    return decoder.changes !== before;
  };
  assert.deepEqual(["82", "4001 6101 62", "be", "0001 6101 62", "20"].map(changed), [
    false,
    true,
    false,
    false,
    true,
  ]);
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
  assert.throws(
    () => decoder.decode(Uint8Array.from([0xbe, 0xbe, 0xbe, 0xbe, 0x40, 1, 0x61, 1, 0x62])),
    (error) => error instanceof HpackListError && /more than 10000 bytes/.test(error.message),
  );
  assert.deepEqual(shown(decoder.decode(bytes("be"))), ["a: b"], "read to its end");
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

/** Codes as texts of bits, in the order of RFC 7541, 5.2: by length, then by byte. */
function huffmanCodes(): readonly string[] {
  const codes: string[] = [];
  let code = 0;
  let length = 0;
  const order = HUFFMAN_BITS.map((bits, byte) => ({ bits, byte }));
  for (const { bits, byte } of order.sort((a, b) => a.bits - b.bits || a.byte - b.byte)) {
    code = (code + (length === 0 ? 0 : 1)) * 2 ** (bits - length);
    length = bits;
    codes[byte] = code.toString(2).padStart(bits, "0");
  }
  return codes;
}

test("HpackDecoder reads Huffman codes of any length, one after the other", () => {
  const codes = huffmanCodes();
  const decodes = (text: Uint8Array) => {
    const bits = Array.from(text, (byte) => codes[byte]).join("");
    const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
    const bytes = (padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
    const head = bytes.length < 127 ? [bytes.length | 0x80] : [0xff, bytes.length - 127];
    const block = Buffer.from([0, 1, 0x61, ...head, ...bytes]);
    const [field] = new HpackDecoder({ tableBytes: 0, listBytes: 65_536 }).decode(block);
    assert.deepEqual(Buffer.from(field?.value ?? []), Buffer.from(text));
  };
  for (let byte = 0; byte < 256; byte += 1) decodes(Uint8Array.of(byte));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), decodes));
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), (text) => decodes(Buffer.from(text, "latin1"))),
  );
});
