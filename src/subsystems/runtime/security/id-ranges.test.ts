import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defaultRange,
  formatMappings,
  parseMappings,
  parseSubIds,
  rangeFault,
  withoutLast,
} from "./id-ranges.ts";

test("defaultRange: all ids but the lowest and the last, whole ranges", () => {
  assert.deepEqual(defaultRange(65_536), { first: 65_536, length: 2 ** 32 - 2 * 65_536 });
  const { first, length } = defaultRange(3 * 65_536);
  assert.deepEqual([first % (3 * 65_536), length % (3 * 65_536)], [0, 0]);
  assert.ok(first + length <= 2 ** 32);
});

test("withoutLast leaves out the block of the id that stands for none, and nothing else", () => {
  for (const [first, length, expected] of [
    [2 ** 31, 2 ** 31, 2 ** 31 - 65_536],
    [2 ** 31, 2 ** 31 - 65_536, 2 ** 31 - 65_536],
    [65_536, 65_536, 65_536],
  ] as const)
    assert.deepEqual(withoutLast({ first, length }, 65_536), { first, length: expected });
});

const SUB_IDS: readonly (readonly [string, object])[] = [
  ["0: kubelet 65536 7208960\n", { first: 65_536, length: 7_208_960 }],
  ["0: kubelet 65536 2147483648", { first: 65_536, length: 2_147_483_648 }],
  ["", { fault: 'invalid line ""' }],
  ["0: kubelet 65536", { fault: 'invalid line "0: kubelet 65536"' }],
  ["0: kubelet -1 4294967296", { fault: 'invalid line "0: kubelet -1 4294967296"' }],
  [
    "0: kubelet 1 2\n1: kubelet 3 4\n",
    {
      fault:
        'error parsing line "0: kubelet 1 2\\n1: kubelet 3 4\\n": it must contain only one line',
    },
  ],
];
for (const [output, expected] of SUB_IDS)
  test(`parseSubIds ${JSON.stringify(output)}`, () =>
    assert.deepEqual(parseSubIds(output), expected));

const UNIT = { idsPerPod: 65_536, maxPods: 110 };
const RANGES: readonly (readonly [number, number, string | undefined])[] = [
  [65_536, 110 * 65_536, undefined],
  [65_536, 109 * 65_536, "kubelet user assigned IDs are not enough to support 110 pods"],
  [65_537, 110 * 65_536, "kubelet user assigned ID 65537 is not a multiple of 65536"],
  [0, 110 * 65_536, "kubelet user assigned ID 0 must be greater or equal to 65536"],
  [2 ** 31, 2 ** 31, undefined],
  [
    2 ** 31,
    2 ** 31 + 65_536,
    "kubelet user assigned IDs end at 4295032831, beyond the last ID 4294967295",
  ],
  [65_536, 65_537, "kubelet user assigned IDs length 65537 is not a multiple of 65536"],
];
for (const [first, length, expected] of RANGES)
  test(`rangeFault ${first}+${length}`, () =>
    assert.equal(rangeFault({ first, length }, UNIT), expected));

test("mappings are written as the Go kubelet writes them, and read again", () => {
  const text = formatMappings({ first: 131_072, length: 65_536 });
  const one = '[{"hostId":131072,"containerId":0,"length":65536}]';
  assert.equal(text, `{"uidMappings":${one},"gidMappings":${one}}`);
  assert.deepEqual(parseMappings(text), { first: 131_072, length: 65_536 });
});

const BAD = [
  "",
  "null",
  "{}",
  '{"uidMappings":[{"hostId":1,"containerId":0,"length":1}],"gidMappings":[]}',
  '{"uidMappings":[{"hostId":1,"containerId":1,"length":1}],"gidMappings":[{"hostId":1,"containerId":1,"length":1}]}',
  '{"uidMappings":[{"hostId":"1","containerId":0,"length":1}],"gidMappings":[{"hostId":"1","containerId":0,"length":1}]}',
];
for (const text of BAD)
  test(`parseMappings refuses ${text}`, () => assert.ok("fault" in parseMappings(text)));
