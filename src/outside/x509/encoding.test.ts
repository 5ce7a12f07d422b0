// What is written into certificates and requests, element by element, and what is refused with which error.
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { before, test } from "node:test";
import type { WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import {
  childrenOf,
  contextOf,
  type DerElement,
  der,
  derBits,
  derContext,
  derInteger,
  derOid,
  derSequence,
  readDer,
  readOid,
  TAG,
} from "./der.ts";
import { encodeSubject } from "./names.ts";
import { pemBlocks } from "./pem.ts";
import {
  type CertificateTemplate,
  createStubCsr,
  isIssuedBy,
  type KeyPair,
  keyPairOf,
  parseCertificate,
  parseCsr,
  parseCsrDer,
  signCertificate,
} from "./x509.ts";

const NOT_BEFORE = Date.UTC(2026, 10, 1) as WallMs;
const NOT_AFTER = Date.UTC(2026, 11, 1) as WallMs;
const NO_NAMES = { dnsNames: [], ipAddresses: [] };
const OID = {
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  basicConstraints: "2.5.29.19",
  subjectKeyId: "2.5.29.14",
  authorityKeyId: "2.5.29.35",
  subjectAltName: "2.5.29.17",
};

function pairOf({ privateKey }: { readonly privateKey: KeyObject }): KeyPair {
  return keyPairOf(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
}

let own: KeyPair;
let rsa: KeyPair;
before(() => {
  own = pairOf(generateKeyPairSync("ed25519"));
  rsa = pairOf(generateKeyPairSync("rsa", { modulusLength: 2048 }));
});

function issued(changes: Partial<CertificateTemplate> = {}, issuer = own): Uint8Array {
  const template: CertificateTemplate = {
    subject: { commonName: "leaf", organizations: [] },
    publicKey: own.publicKey,
    notBefore: NOT_BEFORE,
    notAfter: NOT_AFTER,
    use: ["serverAuth"],
    ...changes,
  };
  const pem = signCertificate(template, { privateKeyPem: issuer.privateKeyPem });
  const [bytes = new Uint8Array()] = pemBlocks(pem, "CERTIFICATE");
  return bytes;
}

const hex = (element: DerElement | undefined) => Buffer.from(element?.whole ?? []).toString("hex");
const fieldsOf = (bytes: Uint8Array): readonly DerElement[] => {
  const [content] = childrenOf(readDer(bytes));
  assert.ok(content);
  return childrenOf(content);
};

/** The extensions by object identifier: whether each is critical, and its value in hex. */
function extensionsOf(bytes: Uint8Array): ReadonlyMap<string, readonly [boolean, string]> {
  const field = fieldsOf(bytes).find((each) => contextOf(each) === 3);
  assert.ok(field);
  return new Map(
    childrenOf(readDer(field.content)).map((extension) => {
      const [oid, ...rest] = childrenOf(extension);
      const value = rest.at(-1);
      assert.ok(oid && value);
      const critical = rest.length === 2 && hex(rest[0]) === "0101ff";
      return [readOid(oid), [critical, Buffer.from(value.content).toString("hex")]];
    }),
  );
}

test("certificates are of version 3, requests of version 1", () => {
  assert.equal(hex(fieldsOf(issued())[0]), "a003020102");
  assert.equal(hex(fieldsOf(createStubCsr(own))[0]), "020100");
});

test("serial numbers are 16 random bytes whose first two bits are 01: positive, and of one length", () => {
  const serials = Array.from({ length: 64 }, () => fieldsOf(issued())[1]?.content ?? []);
  const firsts = serials.map((serial) => serial[0] ?? 0);
  for (const serial of serials) assert.equal(serial.length, 16);
  for (const first of firsts) assert.equal(first & 0xc0, 0x40, `${first}`);
  for (const bit of [1, 2, 4, 8, 16, 32])
    assert.equal(new Set(firsts.map((first) => first & bit)).size, 2, `bit ${bit} is random`);
  const copied = serials.filter(
    (serial) => ((serial[0] ?? 0) & 0x3f) === ((serial[1] ?? 0) & 0x3f),
  );
  assert.ok(copied.length < 32, "the second byte is another one");
  assert.equal(new Set(serials.map((serial) => Buffer.from(serial).toString("hex"))).size, 64);
});

test("keys may be used for what the certificate is for", () => {
  const usage = (changes: Partial<CertificateTemplate>) =>
    extensionsOf(issued(changes)).get(OID.keyUsage);
  assert.deepEqual(usage({}), [true, "03020780"], "digital signatures");
  assert.deepEqual(
    usage({ publicKey: rsa.publicKey }),
    [true, "030205a0"],
    "with RSA key exchange, too",
  );
  assert.deepEqual(usage({ use: "authority" }), [true, "03020186"]);
  assert.deepEqual(usage({ use: "authority", publicKey: rsa.publicKey }), [true, "03020186"]);
});

test("extensions are there when they say something, and critical where RFC 5280 asks for it", () => {
  const leaf = extensionsOf(issued({ names: NO_NAMES }));
  const { keyUsage, extendedKeyUsage, basicConstraints, subjectKeyId, authorityKeyId } = OID;
  assert.deepEqual(
    [...leaf.keys()],
    [keyUsage, extendedKeyUsage, basicConstraints, subjectKeyId, authorityKeyId],
  );
  assert.deepEqual(leaf.get(basicConstraints), [true, "3000"]);
  const root = extensionsOf(issued({ use: "authority" }));
  assert.deepEqual([...root.keys()], [keyUsage, basicConstraints, subjectKeyId, authorityKeyId]);
  assert.deepEqual(root.get(basicConstraints), [true, "30030101ff"]);
  const names = { dnsNames: ["a"], ipAddresses: [] };
  assert.deepEqual(extensionsOf(issued({ names })).get(OID.subjectAltName), [false, "3003820161"]);
  const nameless = { commonName: "", organizations: [] };
  assert.deepEqual(extensionsOf(issued({ names, subject: nameless })).get(OID.subjectAltName), [
    true,
    "3003820161",
  ]);
  const address = { dnsNames: [], ipAddresses: ["192.0.2.1"] };
  assert.deepEqual(extensionsOf(issued({ names: address })).get(OID.subjectAltName), [
    false,
    "30068704c0000201",
  ]);
});

test("a certificate is valid from its first to its last moment", () => {
  const root = signCertificate(
    {
      subject: { commonName: "root", organizations: [] },
      publicKey: own.publicKey,
      notBefore: NOT_BEFORE,
      notAfter: NOT_AFTER,
      use: "authority",
    },
    { privateKeyPem: own.privateKeyPem },
  );
  const leaf = pemBlocks(root, "CERTIFICATE")[0] ?? new Uint8Array();
  const at = (ms: number) => isIssuedBy(leaf, root, ms as WallMs);
  assert.deepEqual([NOT_BEFORE - 1, NOT_BEFORE, NOT_AFTER, NOT_AFTER + 1].map(at), [
    false,
    true,
    true,
    false,
  ]);
});

/** `why` begins the message; anything but an `OutsideError` "invalid" fails. */
function refused(work: () => unknown, why: string): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof OutsideError && error.code === "invalid", String(error));
    assert.ok(error.message.startsWith(why), error.message);
    return true;
  });
}

test("what is no key, no certificate and no request is refused, and so is a key that cannot sign", () => {
  const NO_BLOCK = "certificate: no PEM block of a";
  refused(() => keyPairOf("no key"), "private key: ");
  refused(() => parseCertificate("no certificate"), `${NO_BLOCK} certificate`);
  refused(() => parseCsr("no request"), `${NO_BLOCK} request`);
  refused(
    () => createStubCsr(pairOf(generateKeyPairSync("ed448"))),
    "cannot sign with a key of type ed448",
  );
  refused(() => issued({ publicKey: derSequence() }), "public key: ");
  const request = derSequence(
    derInteger([0]),
    encodeSubject({ commonName: "a", organizations: [] }),
    derSequence(derBits(new Uint8Array(1))),
  );
  const signed = derSequence(request, derSequence(), derBits(new Uint8Array(2)));
  refused(() => parseCsrDer(signed), "public key: ");
});

test("a request about a key that signs with nothing known has no valid signature, or is refused", () => {
  const { publicKey } = generateKeyPairSync("x25519");
  const request = derSequence(
    derInteger([0]),
    derSequence(),
    publicKey.export({ type: "spki", format: "der" }),
    derContext(0, "constructed"),
  );
  const signed = derSequence(request, derSequence(), derBits(new Uint8Array(64)));
  refused(() => parseCsrDer(signed), "cannot sign with a key of type x25519");
});

const ODD_OIDS: Readonly<Record<string, string>> = {
  "a last arc that does not end": "550483",
  "nothing but an arc that does not end": "80",
  "an arc that is not written the shortest way": "55048003",
  "a first arc that is not written the shortest way": "80550403",
};

for (const [what, content] of Object.entries(ODD_OIDS))
  test(`an object identifier with ${what} is refused: other readers take it for another one`, () => {
    const element = readDer(der(TAG.oid, Buffer.from(content, "hex")));
    refused(() => readOid(element), "certificate: no object identifier");
  });

test("arcs of an object identifier are read as long as a number holds them", () => {
  const largest = `2.5.${2 ** 46 - 1}`;
  assert.equal(readOid(readDer(derOid(largest))), largest);
  refused(
    () => readOid(readDer(derOid(`2.5.${2 ** 46}`))),
    "certificate: an object identifier too large",
  );
});
