import assert from "node:assert/strict";
import { isIPv4 as nodeIsIPv4, isIPv6 as nodeIsIPv6 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { fieldLines, lineOfField } from "./file/field-lines.ts";
import { didYouMean, editDistance, nearest } from "./nearest.ts";
import { folderOf, resolvePath } from "./paths.ts";
import { parseCpuList } from "./validation/cpu-list.ts";
import { isEvictionSignal, readEvictionAmount } from "./validation/eviction-thresholds.ts";
import { isIP, isIPv4, isIPv6 } from "./validation/ip.ts";
import { isSubdomain, labelKeyFaults, labelValueFaults } from "./validation/label-syntax.ts";

test("parseCpuList reads the kernel's list format", () => {
  const rows: readonly (readonly [string, readonly number[]])[] = [
    ["", []],
    ["0", [0]],
    ["0-3", [0, 1, 2, 3]],
    ["8,0-2", [0, 1, 2, 8]],
    ["1,1-2,2", [1, 2]],
    ["65535", [65535]],
  ];
  for (const [text, cpus] of rows) assert.deepEqual(parseCpuList(text), { ok: true, cpus });
  for (const text of [",", "1,", "a", "1-", "-1", "3-1", "0-999999999", "1 ,2", "65536", "0x1"]) {
    assert.equal(parseCpuList(text).ok, false, text);
  }
});

const ADDRESSES = [
  "0.0.0.0",
  "127.0.0.1",
  "255.255.255.255",
  "256.0.0.1",
  "1.2.3",
  "1.2.3.4.5",
  "01.2.3.4",
  "1.2.3.4 ",
  "",
  "::",
  "::1",
  "1::",
  "fe80::1:2",
  "1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1::2::3",
  ":1",
  "1:",
  ":::",
  "::ffff:1.2.3.4",
  "::1.2.3.4",
  "1:2:3:4:5:6:1.2.3.4",
  "1:2:3:4:5:6:7:1.2.3.4",
  "1.2.3.4::",
  "::12345",
  "g::",
  "[::1]",
  "1:2:3:4:5:6:7::",
  "1:2:3:4:5:6:7:8::",
];

test("isIP agrees with the runtime's own judgement", () => {
  for (const text of ADDRESSES) {
    assert.equal(isIPv4(text), nodeIsIPv4(text), text);
    assert.equal(isIPv6(text), nodeIsIPv6(text), text);
  }
  const piece = fc.constantFrom("0", "1", "ffff", "::", ":", ".", "255", "256", "1.2.3.4", "g");
  const any = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(any, (text) => {
      assert.equal(isIP(text), nodeIsIPv4(text) || nodeIsIPv6(text), text);
    }),
    { numRuns: 2000 },
  );
});

test("label keys and values keep the rules of qualified names", () => {
  for (const key of ["a", "a.b_c-d", "example.com/a", "A1", `${"a".repeat(63)}`]) {
    assert.deepEqual(labelKeyFaults(key), [], key);
  }
  for (const key of ["", "-a", "a-", "a/b/c", "/a", "Example.com/a", "a b", "a".repeat(64), "x/"]) {
    assert.notDeepEqual(labelKeyFaults(key), [], key);
  }
  for (const value of ["", "a", "A.b-c_1"]) assert.deepEqual(labelValueFaults(value), [], value);
  for (const value of ["-a", "a/b", " ", "a".repeat(64)]) {
    assert.notDeepEqual(labelValueFaults(value), [], value);
  }
  assert.equal(isSubdomain("a.b-c.d"), true);
  for (const name of ["", "A", "a..b", "-a", "a_b", "a."]) assert.equal(isSubdomain(name), false);
});

test("nearest finds what was meant and nothing far away", () => {
  const names = ["maxPods", "podsPerCore", "staticPodPath", "clusterDNS"];
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["maxPods", "maxPods"],
    ["maxpods", "maxPods"],
    ["max-pods", "maxPods"],
    ["maxPdos", "maxPods"],
    ["staticPod", "staticPodPath"],
    ["clusterDns", "clusterDNS"],
    ["xyz", undefined],
    ["", undefined],
    ["x".repeat(1000), undefined],
  ];
  for (const [name, found] of rows) assert.equal(nearest(name, names), found, name);
  assert.equal(didYouMean("maxpod", names), "did you mean maxPods?");
  assert.equal(didYouMean("zzz", names), "");
});

test("editDistance counts inserts, removals, replacements and swaps", () => {
  const rows: readonly (readonly [string, string, number])[] = [
    ["", "", 0],
    ["a", "a", 0],
    ["a", "b", 1],
    ["ab", "ba", 1],
    ["abc", "ab", 1],
    ["kitten", "sitting", 3],
    ["abcdef", "badcfe", 3],
  ];
  for (const [a, b, distance] of rows) {
    assert.equal(editDistance(a, b, 10), distance, `${a} ${b}`);
    assert.equal(editDistance(b, a, 10), distance, `${b} ${a}`);
  }
  assert.equal(editDistance("abc", "xyz", 2), 2);
});

test("resolvePath and folderOf stay within absolute paths", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["/a", "b", "/a/b"],
    ["/a/b", "../c", "/a/c"],
    ["/a", "/b/./c//d/", "/b/c/d"],
    ["/", "../../x", "/x"],
    ["/a", ".", "/a"],
    ["/a", "..", "/"],
  ];
  for (const [from, path, resolved] of rows) assert.equal(resolvePath(from, path), resolved);
  assert.equal(folderOf("/a/b"), "/a");
  assert.equal(folderOf("/a"), "/");
});

test("fieldLines finds block mappings, and what is inside gets the nearest line", () => {
  const lines = fieldLines(
    [
      "# a comment: no key",
      "port: 1",
      "authentication:",
      "  x509:",
      '    "clientCAFile": /x',
      "  anonymous: {enabled: true}",
      "evictionHard:",
      "  memory.available: 5%",
      "'quoted': 1",
      "list:",
      "- a: 1",
      "  b: 2",
      "port: 9",
    ].join("\n"),
  );
  const rows: readonly (readonly [string, number | undefined])[] = [
    ["port", 2],
    ["authentication", 3],
    ["authentication.x509.clientCAFile", 5],
    ["authentication.anonymous.enabled", 6],
    ["evictionHard[memory.available]", 8],
    ["evictionHard[pid.available]", 7],
    ["quoted", 9],
    ["list[0].a", 10],
    ["missing", undefined],
    ["missing.deep[0]", undefined],
  ];
  for (const [path, line] of rows) assert.equal(lineOfField(lines, path), line, path);
  assert.equal(fieldLines("a: 1\n".repeat(30_000)).size, 0);
});

test("eviction amounts are quantities or shares", () => {
  const share = (text: string) => {
    const reading = readEvictionAmount(text);
    return reading.ok && reading.amount.kind === "share" ? reading.amount.share : undefined;
  };
  assert.equal(share("10%"), 0.1);
  assert.equal(share("5.5%"), 0.055);
  assert.equal(share("100Mi"), undefined);
  for (const text of ["%", "x%", "1e3%", " 5%", "0x1%"]) {
    assert.deepEqual(readEvictionAmount(text), { ok: false, error: "invalid percentage" }, text);
  }
  assert.ok(isEvictionSignal("pid.available") && !isEvictionSignal("toString"));
});
