import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { pemBlocks } from "./pem.ts";
import {
  createCsr,
  createStubCsr,
  generateKeyOfType,
  generateKeyPair,
  isIssuedBy,
  isKeyType,
  type KeyPair,
  keyBelongsTo,
  parseCertificate,
  parseCertificateDer,
  parseCertificates,
  parseCsr,
  parseCsrDer,
  signCertificate,
} from "./x509.ts";

const DAY_MS = 86_400_000;
const NOW = Date.now() as WallMs;
const names = {
  dnsNames: ["node-1", "node-1.example.test"],
  ipAddresses: ["10.0.0.1", "fd00::1", "2001:db8::ff00:42:8329", "::"],
};

let folder: string;
let key: KeyPair;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "nodelet-x509-"));
  key = await generateKeyPair();
});
after(() => rmSync(folder, { recursive: true }));

function openssl(...argv: readonly string[]): string {
  return execFileSync("openssl", argv, {
    encoding: "utf8",
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return name;
}

function at(days: number): WallMs {
  return (NOW + days * DAY_MS) as WallMs;
}

function authority(own: KeyPair, commonName = "test authority"): string {
  return signCertificate(
    {
      subject: { commonName, organizations: [] },
      publicKey: own.publicKey,
      notBefore: at(-1),
      notAfter: at(1),
      use: "authority",
    },
    { privateKeyPem: own.privateKeyPem },
  );
}

/** Key types and signature algorithms as openssl names them. */
const KEY_TYPES = [
  ["RSA3072", /Public-Key: \(3072 bit\)/, "sha256WithRSAEncryption"],
  ["RSA4096", /Public-Key: \(4096 bit\)/, "sha256WithRSAEncryption"],
  ["ECDSAP256", /NIST CURVE: P-256/, "ecdsa-with-SHA256"],
  ["ECDSAP384", /NIST CURVE: P-384/, "ecdsa-with-SHA384"],
  ["ECDSAP521", /NIST CURVE: P-521/, "ecdsa-with-SHA512"],
  ["ED25519", /ED25519 Public-Key/, "ED25519"],
] as const;

describe("createStubCsr", () => {
  for (const [type, shown, algorithm] of KEY_TYPES)
    test(`a request about a key of type ${type} holds nothing else, and openssl verifies it`, async () => {
      const made = await generateKeyOfType(type);
      assert.match(made.privateKeyPem, /^-----BEGIN PRIVATE KEY-----\n/);
      const bytes = createStubCsr(made);
      writeFileSync(join(folder, "stub.der"), bytes);
      const flags = ["-verify", "-noout", "-text"];
      const text = openssl("req", "-inform", "DER", "-in", "stub.der", ...flags);
      assert.match(text, shown);
      assert.match(text, new RegExp(`Signature Algorithm: ${algorithm}\\n`));
      assert.match(text, /Subject: *\n/);
      assert.match(text, /Attributes:\s+\(none\)/);
      const read = parseCsrDer(bytes);
      assert.equal(read.signatureIsValid, true);
      assert.deepEqual(Buffer.from(read.publicKey), made.publicKey);
      const forged = Uint8Array.from(bytes);
      forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
      assert.equal(parseCsrDer(forged).signatureIsValid, false);
    });

  test("isKeyType knows these only", () => {
    assert.deepEqual(["ED25519", "RSA2048", "toString", ""].map(isKeyType), [
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("createCsr", () => {
  test("makes a request that openssl verifies and reads back the same", () => {
    const subject = { commonName: "system:node:node-1", organizations: ["system:nodes", "Zoë's"] };
    const pem = createCsr(subject, names, key);
    const text = openssl(
      "req",
      "-in",
      file("a.csr", pem),
      "-verify",
      "-noout",
      "-text",
      "-nameopt",
      "utf8",
    );
    assert.match(text, /Subject: O=system:nodes, O=Zoë's, CN=system:node:node-1/);
    assert.match(text, /DNS:node-1, DNS:node-1.example.test, IP Address:10.0.0.1/);
    assert.match(text, /IP Address:FD00:0:0:0:0:0:0:1/);
    const parsed = parseCsr(pem);
    assert.deepEqual(parsed.subject, subject);
    assert.deepEqual(parsed.names, names);
    assert.equal(parsed.signatureIsValid, true);
    assert.deepEqual(Buffer.from(parsed.publicKey), Buffer.from(key.publicKey));
  });

  test("asks for no names when there are none", () => {
    const pem = createCsr(
      { commonName: "x", organizations: [] },
      { dnsNames: [], ipAddresses: [] },
      key,
    );
    assert.doesNotMatch(
      openssl("req", "-in", file("b.csr", pem), "-noout", "-text"),
      /Alternative/,
    );
    assert.deepEqual(parseCsr(pem).names, { dnsNames: [], ipAddresses: [] });
  });

  test("reads a request of openssl, and sees through one whose content was changed", () => {
    file("o.key", key.privateKeyPem);
    const pem = openssl(
      "req",
      "-new",
      "-key",
      "o.key",
      "-subj",
      "/O=g1/O=g2/CN=u",
      "-addext",
      "subjectAltName=DNS:a.test,IP:192.0.2.7",
    );
    assert.deepEqual(parseCsr(pem).subject, { commonName: "u", organizations: ["g1", "g2"] });
    assert.deepEqual(parseCsr(pem).names, { dnsNames: ["a.test"], ipAddresses: ["192.0.2.7"] });
    assert.equal(parseCsr(pem).signatureIsValid, true);
    const [bytes = new Uint8Array()] = pemBlocks(pem, "CERTIFICATE REQUEST");
    const forged = Buffer.from(bytes);
    forged[forged.indexOf("g1") + 1] = 0x39;
    const text = `-----BEGIN CERTIFICATE REQUEST-----\n${forged.toString("base64")}\n-----END CERTIFICATE REQUEST-----`;
    assert.deepEqual(parseCsr(text).subject.organizations, ["g9", "g2"]);
    assert.equal(parseCsr(text).signatureIsValid, false);
  });
});

describe("signCertificate", () => {
  test("issues what openssl verifies against the authority, for its purpose only", async () => {
    const root = await generateKeyPair();
    const rootPem = authority(root);
    file("root.crt", rootPem);
    const issuer = { certificatePem: rootPem, privateKeyPem: root.privateKeyPem };
    const template = {
      subject: { commonName: "node-1", organizations: ["system:nodes"] },
      names,
      publicKey: key.publicKey,
      notBefore: at(-1),
      notAfter: at(1),
    };
    file("server.crt", signCertificate({ ...template, use: ["serverAuth"] }, issuer));
    file("client.crt", signCertificate({ ...template, use: ["clientAuth"] }, issuer));
    const verify = (purpose: string, certificate: string) =>
      openssl("verify", "-x509_strict", "-CAfile", "root.crt", "-purpose", purpose, certificate);
    assert.match(verify("sslserver", "server.crt"), /OK/);
    assert.match(verify("sslclient", "client.crt"), /OK/);
    assert.throws(
      () => verify("sslclient", "server.crt"),
      /unsuitable certificate purpose|unsupported certificate purpose/,
    );
    assert.match(
      openssl(
        "verify",
        "-CAfile",
        "root.crt",
        "-verify_hostname",
        "node-1.example.test",
        "server.crt",
      ),
      /OK/,
    );
    assert.match(
      openssl("verify", "-CAfile", "root.crt", "-verify_ip", "fd00::1", "server.crt"),
      /OK/,
    );
    assert.throws(() =>
      openssl("verify", "-CAfile", "root.crt", "-verify_hostname", "other", "server.crt"),
    );
  });

  const issuers: readonly {
    readonly name: string;
    readonly make: () => { privateKey: KeyObject };
  }[] = [
    { name: "P-384", make: () => generateKeyPairSync("ec", { namedCurve: "P-384" }) },
    { name: "P-521", make: () => generateKeyPairSync("ec", { namedCurve: "P-521" }) },
    { name: "RSA", make: () => generateKeyPairSync("rsa", { modulusLength: 2048 }) },
    { name: "Ed25519", make: () => generateKeyPairSync("ed25519") },
  ];
  for (const { name, make } of issuers) {
    test(`signs with a key of type ${name} that openssl made a certificate for`, () => {
      const pem = make().privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      file("i.key", pem);
      const root = openssl(
        "req",
        "-x509",
        "-new",
        "-key",
        "i.key",
        "-subj",
        "/O=org/CN=issuer of openssl",
        "-days",
        "2",
      );
      file("i.crt", root);
      const template = {
        subject: { commonName: "leaf", organizations: [] },
        publicKey: key.publicKey,
        notBefore: at(-1),
        notAfter: at(1),
        use: ["clientAuth"],
      } as const;
      file("l.crt", signCertificate(template, { certificatePem: root, privateKeyPem: pem }));
      assert.match(openssl("verify", "-CAfile", "i.crt", "-purpose", "sslclient", "l.crt"), /OK/);
    });
  }

  test("writes times on both sides of 2050 so that openssl reads them", () => {
    const template = {
      subject: { commonName: "old", organizations: [] },
      publicKey: key.publicKey,
      notBefore: Date.UTC(2049, 11, 31, 23, 59, 59) as WallMs,
      notAfter: Date.UTC(2050, 0, 1, 0, 0, 0) as WallMs,
      use: "authority",
    } as const;
    const pem = signCertificate(template, { privateKeyPem: key.privateKeyPem });
    const text = openssl("x509", "-in", file("t.crt", pem), "-noout", "-dates");
    assert.match(text, /notBefore=Dec 31 23:59:59 2049 GMT/);
    assert.match(text, /notAfter=Jan {2}1 00:00:00 2050 GMT/);
    const facts = parseCertificate(pem);
    assert.equal(facts.notBefore, template.notBefore);
    assert.equal(facts.notAfter, template.notAfter);
  });
});

describe("parseCertificate", () => {
  test("says what the certificate says", () => {
    const pem = authority(key, "who");
    const facts = parseCertificate(pem);
    assert.deepEqual(facts.subject, { commonName: "who", organizations: [] });
    assert.deepEqual(facts.issuer, facts.subject);
    assert.equal(facts.isAuthority, true);
    assert.deepEqual(facts.usages, []);
    const serial = openssl("x509", "-in", file("s.crt", pem), "-noout", "-serial");
    assert.equal(serial.trim().toLowerCase(), `serial=${facts.serial}`);
    assert.equal(parseCertificates(pem + pem).length, 2);
  });

  test("throws only OutsideError for bytes that are no certificate", () => {
    const [good = new Uint8Array()] = pemBlocks(authority(key), "CERTIFICATE");
    const attempt = (bytes: Uint8Array) => {
      try {
        parseCertificateDer(bytes);
      } catch (error) {
        assert.ok(error instanceof OutsideError, String(error));
        assert.equal(error.code, "invalid");
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), attempt));
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), (where, value) => {
        const bytes = Uint8Array.from(good);
        bytes[where] = value;
        attempt(bytes);
        attempt(bytes.subarray(0, where));
      }),
      { numRuns: 2_000 },
    );
  });

  test("refuses a name with NUL in it", () => {
    const pem = signCertificate(
      {
        subject: { commonName: "admin\0.evil", organizations: [] },
        publicKey: key.publicKey,
        notBefore: at(-1),
        notAfter: at(1),
        use: ["clientAuth"],
      },
      { privateKeyPem: key.privateKeyPem },
    );
    assert.throws(() => parseCertificate(pem), /NUL/);
  });
});

describe("isIssuedBy", () => {
  test("holds for the issuer in a bundle, while both are valid", async () => {
    const [rootKey, otherKey] = [await generateKeyPair(), await generateKeyPair()];
    const root = authority(rootKey);
    const other = authority(otherKey);
    const template = {
      subject: { commonName: "c", organizations: [] },
      publicKey: key.publicKey,
      notBefore: at(-1),
      notAfter: at(1),
      use: ["clientAuth"],
    } as const;
    const pem = signCertificate(template, {
      certificatePem: root,
      privateKeyPem: rootKey.privateKeyPem,
    });
    const [leaf = new Uint8Array()] = pemBlocks(pem, "CERTIFICATE");
    assert.equal(isIssuedBy(leaf, other + root, NOW), true);
    assert.equal(isIssuedBy(leaf, other, NOW), false, "the same name with another key");
    const forged = Uint8Array.from(leaf);
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    assert.equal(isIssuedBy(forged, root, NOW), false, "the signature is another");
    assert.equal(isIssuedBy(leaf, root, at(2)), false);
    assert.equal(isIssuedBy(leaf, pem, NOW), false, "a leaf is no authority");
  });
});

test("keyBelongsTo distinguishes a certificate's key from others", async () => {
  const pem = authority(key);
  assert.equal(keyBelongsTo(key.privateKeyPem, pem), true);
  assert.equal(keyBelongsTo((await generateKeyPair()).privateKeyPem, pem), false);
});
