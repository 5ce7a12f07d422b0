// Bytes that are no certificates, down to the single element: what is refused, and what is only just right.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import {
  childrenOf,
  der,
  derBits,
  derBoolean,
  derContext,
  derInteger,
  derOctets,
  derOid,
  derSequence,
  derText,
  derTime,
  readBits,
  readDer,
  readOid,
  readTime,
  TAG,
} from "./der.ts";
import { decodeNames, decodeSubject, encodeNames, encodeSubject } from "./names.ts";
import { pemBlocks, toPem } from "./pem.ts";
import { readCertificate, readCsr } from "./read-certificate.ts";

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const hex = (found: Uint8Array) => Buffer.from(found).toString("hex");
const zeros = (count: number) => new Uint8Array(count);

/** `why` ends the message; anything but an `OutsideError` "invalid" fails. */
function refused(work: () => unknown, why: string): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof OutsideError && error.code === "invalid", String(error));
    assert.equal(error.message, `certificate: ${why}`);
    return true;
  });
}

const NOT_ONE: Readonly<Record<string, readonly [hex: string, why: string]>> = {
  nothing: ["", "not exactly one element"],
  "two elements": ["0500 0500", "not exactly one element"],
  "a tag only": ["05", "ends within a length"],
  "a tag of several bytes": ["1f8100 00", "a tag of several bytes"],
  "a tag of several bytes in a constructed element": ["3f01 00", "a tag of several bytes"],
  "a length without end": ["3080 0000", "a length that DER does not allow"],
  "a length of five bytes": ["0485 0000000001 00", "a length that DER does not allow"],
  "a length that is too long by a byte": [
    "04 817f",
    "a length that is not written the shortest way",
  ],
  "content that is cut off": ["0403 0102", "ends within an element"],
  "a length that is cut off": ["0482 01", "a length that is not written the shortest way"],
  "a length of four bytes beyond the end": ["0484 7fffffff", "ends within an element"],
};

for (const [what, [text, why]] of Object.entries(NOT_ONE))
  test(`readDer refuses ${what}`, () => refused(() => readDer(bytes(text)), why));

test("readDer takes lengths of every form", () => {
  for (const length of [0, 1, 0x7f, 0x80, 0x81, 0xff, 0x100, 0xffff, 0x10000]) {
    const { tag, content, whole } = readDer(der(TAG.octetString, zeros(length)));
    assert.deepEqual([tag, content.length], [TAG.octetString, length]);
    assert.equal(whole.length, der(TAG.octetString, zeros(length)).length);
  }
  assert.equal(hex(der(4, zeros(0x7f)).subarray(0, 2)), "047f");
  assert.equal(hex(der(4, zeros(0x80)).subarray(0, 3)), "048180");
  assert.equal(readDer(bytes(`0484 00000080 ${"00".repeat(128)}`)).content.length, 128);
});

test("childrenOf takes the elements of the tag that is expected, up to a bound", () => {
  const nulls = (count: number) => readDer(derSequence(...new Array(count).fill(bytes("0500"))));
  assert.equal(childrenOf(nulls(1_000)).length, 1_000);
  refused(() => childrenOf(nulls(1_001)), "too many elements");
  refused(() => childrenOf(readDer(bytes("3100"))), "tag 49 where 48 is expected");
  refused(() => childrenOf(nulls(1), TAG.set), "tag 48 where 49 is expected");
});

const INTEGERS: readonly (readonly [readonly number[], string])[] = [
  [[], "020100"],
  [[0], "020100"],
  [[0, 0], "020100"],
  [[1], "020101"],
  [[0, 1], "020101"],
  [[0, 0, 1], "020101"],
  [[1, 0], "02020100"],
  [[0x7f], "02017f"],
  [[0x80], "02020080"],
  [[0x81], "02020081"],
  [[0, 0xff], "020200ff"],
];

for (const [given, expected] of INTEGERS)
  test(`derInteger of ${JSON.stringify(given)}`, () =>
    assert.equal(hex(derInteger(given)), expected));

const OIDS: readonly (readonly [dotted: string, hex: string])[] = [
  ["2.5.4.3", "0603550403"],
  ["0.0", "060100"],
  ["1.0", "060128"],
  ["0.39", "060127"],
  ["2.999", "06028837"],
  ["2.48.127", "060381007f"],
  ["1.2.840.113549.1.9.14", "06092a864886f70d01090e"],
  ["2.5.29.128", "0604551d8100"],
  ["2.5.29.16384", "0605551d818000"],
];

for (const [dotted, encoded] of OIDS)
  test(`object identifier ${dotted}`, () => {
    assert.equal(hex(derOid(dotted)), encoded);
    assert.equal(readOid(readDer(bytes(encoded))), dotted);
  });

test("readOid refuses what is no object identifier, and one that no number holds", () => {
  refused(() => readOid(readDer(bytes("0600"))), "no object identifier");
  refused(() => readOid(readDer(bytes("040155"))), "no object identifier");
  refused(
    () => readOid(readDer(bytes(`060a ${"ff".repeat(9)}7f`))),
    "an object identifier too large",
  );
});

const TIMES: readonly (readonly [tag: number, text: string, iso: string])[] = [
  [TAG.utcTime, "490101000000Z", "2049-01-01T00:00:00Z"],
  [TAG.utcTime, "500101000000Z", "1950-01-01T00:00:00Z"],
  [TAG.utcTime, "991231235959Z", "1999-12-31T23:59:59Z"],
  [TAG.generalizedTime, "20500101000000Z", "2050-01-01T00:00:00Z"],
];

for (const [tag, text, iso] of TIMES)
  test(`readTime of ${text}`, () =>
    assert.equal(readTime(readDer(derText(tag, text))), Date.parse(iso)));

for (const [tag, text] of [
  [TAG.utcTime, "20500101000000Z"],
  [TAG.generalizedTime, "490101000000Z"],
  [TAG.utcTime, "491301000000Z"],
  [TAG.utcTime, "4901010000Z"],
  [TAG.utcTime, "490101000000+0000"],
  [TAG.utcTime, "490101000000Z\n"],
  [TAG.utcTime, "490101000000Zx"],
  [TAG.utcTime, "x490101000000Z"],
  [TAG.generalizedTime, "x20490101000000Z"],
  [TAG.utcTime, ""],
] as const)
  test(`readTime refuses ${JSON.stringify(text)} of type ${tag}`, () =>
    refused(() => readTime(readDer(derText(tag, text))), "no time"));

test("derTime writes two digits of the year up to 2049", () => {
  const shown = (iso: string) => hex(derTime(Date.parse(iso) as WallMs)).slice(0, 4);
  assert.equal(shown("2049-12-31T23:59:59Z"), "170d");
  assert.equal(shown("2050-01-01T00:00:00Z"), "180f");
});

test("bits and booleans", () => {
  assert.equal(hex(readBits(readDer(derBits(bytes("0102"))))), "0102");
  refused(() => readBits(readDer(derBits(bytes("80"), 7))), "no bit string");
  refused(() => readBits(readDer(derOctets(bytes("0001")))), "no bit string");
  refused(() => readBits(readDer(bytes("0300"))), "no bit string");
  assert.equal(hex(derBoolean(false)), "010100");
  assert.equal(hex(derBoolean(true)), "0101ff");
});

const nameOf = (oid: string, tag: number, content: Uint8Array) =>
  derSequence(der(TAG.set, derSequence(derOid(oid), der(tag, content))));
const COMMON_NAME = "2.5.4.3";
const text = (value: string) => new TextEncoder().encode(value);

test("decodeSubject takes the string types that readers agree on", () => {
  for (const tag of [TAG.utf8, TAG.printable, TAG.ia5, 0x0c, 0x13, 0x16])
    assert.deepEqual(decodeSubject(readDer(nameOf(COMMON_NAME, tag, text("a")))), {
      commonName: "a",
      organizations: [],
    });
  for (const tag of [0x14, 0x1e, 0x17])
    refused(
      () => decodeSubject(readDer(nameOf(COMMON_NAME, tag, text("a")))),
      `a name of string type ${tag}`,
    );
  const broken = nameOf(COMMON_NAME, TAG.utf8, bytes("ff"));
  refused(() => decodeSubject(readDer(broken)), "a name that is not UTF-8");
  refused(
    () => decodeSubject(readDer(nameOf(COMMON_NAME, TAG.utf8, zeros(1)))),
    "a name with NUL in it",
  );
  const unnamed = derSequence(der(TAG.set, derSequence(derOid(COMMON_NAME))));
  refused(() => decodeSubject(readDer(unnamed)), "a name without type or value");
  refused(
    () => decodeSubject(readDer(derSequence(der(TAG.set, derSequence())))),
    "a name without type or value",
  );
});

test("decodeSubject leaves out what is neither name nor organization", () => {
  const unit = nameOf("2.5.4.11", TAG.utf8, text("unit"));
  assert.deepEqual(decodeSubject(readDer(unit)), { commonName: "", organizations: [] });
});

const ADDRESSES: readonly (readonly [written: string, hex: string, read: string])[] = [
  ["192.0.2.1", "8704c0000201", "192.0.2.1"],
  ["::", `8710${"00".repeat(16)}`, "::"],
  ["::1", `8710${"00".repeat(15)}01`, "::1"],
  ["1::", `87100001${"00".repeat(14)}`, "1::"],
  ["2001:db8::1", `871020010db8${"00".repeat(11)}01`, "2001:db8::1"],
  ["::ffff:192.0.2.1", `8710${"00".repeat(10)}ffffc0000201`, "::ffff:c000:201"],
  ["::10.1.2.3", `8710${"00".repeat(12)}0a010203`, "::a01:203"],
  ["1:2:3:4:5:6:7:8", "871000010002000300040005000600070008", "1:2:3:4:5:6:7:8"],
  ["1:0:3:4:5:6:7:8", "871000010000000300040005000600070008", "1:0:3:4:5:6:7:8"],
  ["1:0:0:4:5:6:7:8", "871000010000000000040005000600070008", "1::4:5:6:7:8"],
  ["0:0:3:4:0:0:7:8", "871000000000000300040000000000070008", "::3:4:0:0:7:8"],
  ["1:2:3:4:5:6:0:0", "871000010002000300040005000600000000", "1:2:3:4:5:6::"],
];

for (const [written, encoded, read] of ADDRESSES)
  test(`address ${written}`, () => {
    const names = encodeNames({ dnsNames: [], ipAddresses: [written] });
    assert.equal(hex(names.subarray(2)), encoded);
    assert.deepEqual(decodeNames(readDer(names)), { dnsNames: [], ipAddresses: [read] });
  });

test("addresses of other lengths, and texts that are none, are refused", () => {
  for (const length of [0, 3, 5, 15, 17]) {
    const names = derSequence(derContext(7, "primitive", zeros(length)));
    refused(() => decodeNames(readDer(names)), `an IP address of ${length} bytes`);
  }
  refused(() => encodeNames({ dnsNames: [], ipAddresses: ["a:b"] }), '"a:b" is not an IP address');
});

test("pemBlocks ends at a block that does not end, and goes on behind one that does", () => {
  const [one, two] = [toPem("X", zeros(3)), toPem("X", zeros(48))];
  assert.deepEqual(
    pemBlocks(`${one}${two}`, "X").map(({ length }) => length),
    [3, 48],
  );
  assert.deepEqual(pemBlocks(`${one}-----BEGIN X-----\nAAAA\n`, "X").length, 1);
  assert.deepEqual(pemBlocks("-----END X----------BEGIN X-----", "X"), []);
  assert.equal(two, `-----BEGIN X-----\n${"A".repeat(64)}\n-----END X-----\n`);
});

const NAME = encodeSubject({ commonName: "a", organizations: [] });
const TIME = derTime(Date.parse("2026-11-22T00:00:00Z") as WallMs);
const VERSION = derContext(0, "constructed", derInteger([2]));
const KEY = derSequence(derBits(zeros(1)));
const certificateOf = (...fields: readonly Uint8Array[]) => derSequence(derSequence(...fields));
const VALIDITY = derSequence(TIME, TIME);
const FIELDS = [derInteger([5]), derSequence(), NAME, VALIDITY, NAME, KEY];

test("readCertificate reads certificates with and without version, and refuses those with fields missing", () => {
  assert.equal(readCertificate(certificateOf(VERSION, ...FIELDS)).serial, "05");
  assert.equal(readCertificate(certificateOf(...FIELDS)).serial, "05");
  refused(() => readCertificate(derSequence()), "empty");
  for (let count = 0; count < FIELDS.length; count += 1) {
    refused(() => readCertificate(certificateOf(...FIELDS.slice(0, count))), "fields are missing");
    refused(
      () => readCertificate(certificateOf(VERSION, ...FIELDS.slice(0, count))),
      "fields are missing",
    );
  }
  for (const times of [[], [TIME]]) {
    const fields = FIELDS.with(3, derSequence(...times));
    refused(() => readCertificate(certificateOf(...fields)), "no validity");
  }
  const extended = (...parts: readonly Uint8Array[]) =>
    certificateOf(
      VERSION,
      ...FIELDS,
      derContext(3, "constructed", derSequence(derSequence(...parts))),
    );
  refused(() => readCertificate(extended()), "an extension without value");
  refused(() => readCertificate(extended(derOid("2.5.29.17"))), "an extension without value");
  refused(
    () => readCertificate(extended(derOid("2.5.29.17"), derBoolean(true))),
    "an extension without value",
  );
});

test("readCsr refuses requests with fields missing, and leaves out attributes that ask for nothing known", () => {
  const request = (fields: readonly Uint8Array[], ...rest: readonly Uint8Array[]) =>
    derSequence(derSequence(...fields), ...rest);
  const signed = [derSequence(), derBits(zeros(2))];
  const whole = [derInteger([0]), NAME, KEY];
  assert.equal(readCsr(request(whole, ...signed)).subject.commonName, "a");
  refused(() => readCsr(derSequence()), "fields of the request are missing");
  refused(() => readCsr(request(whole)), "fields of the request are missing");
  for (let count = 0; count < whole.length; count += 1)
    refused(
      () => readCsr(request(whole.slice(0, count), ...signed)),
      "fields of the request are missing",
    );
  const names = (...attributes: readonly Uint8Array[]) =>
    readCsr(request([...whole, derContext(0, "constructed", ...attributes)], ...signed)).names;
  const none = { dnsNames: [], ipAddresses: [] };
  const challenge = derSequence(
    derOid("1.2.840.113549.1.9.7"),
    der(TAG.set, derText(TAG.utf8, "x")),
  );
  assert.deepEqual(names(challenge), none);
  assert.deepEqual(names(derSequence()), none);
  assert.deepEqual(names(derSequence(derOid("1.2.840.113549.1.9.14"))), none);
  assert.deepEqual(names(derSequence(derOid("1.2.840.113549.1.9.14"), der(TAG.set))), none);
  const asked = derSequence(
    derSequence(
      derOid("2.5.29.17"),
      derOctets(encodeNames({ dnsNames: ["a.example"], ipAddresses: [] })),
    ),
  );
  const extension = derSequence(derOid("1.2.840.113549.1.9.14"), der(TAG.set, asked));
  assert.deepEqual(names(challenge, extension).dnsNames, ["a.example"]);
});
