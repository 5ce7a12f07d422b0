/**
 * Certificates: making keys, signing requests and certificates, and reading them. In and out: PEM texts.
 * Keys, requests and certificates for serving and identifying; verifying chains is left to TLS. Our own keys are
 * P-256; issuers and pods may have RSA, Ed25519 or other curves' keys.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generateNodeKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import type { WallMs } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
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
  derTime,
  readBits,
  readDer,
  TAG,
} from "./der.ts";
import type { KeyPair } from "./key-types.ts";
import {
  type AlternativeNames,
  type CertificateSubject,
  encodeNames,
  encodeSubject,
} from "./names.ts";
import { pemBlocks, toPem } from "./pem.ts";
import {
  type CertificateFacts,
  type CertificateUsage,
  type CsrFacts,
  OID,
  readCertificate,
  readCsr,
} from "./read-certificate.ts";

export { generateKeyOfType, isKeyType, type KeyPair, type KeyType } from "./key-types.ts";
export type { AlternativeNames, CertificateFacts, CertificateSubject, CertificateUsage };

/** Contents of a certificate to sign. */
export interface CertificateTemplate {
  readonly subject: CertificateSubject;
  readonly names?: AlternativeNames;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  readonly notBefore: WallMs;
  readonly notAfter: WallMs;
  /** Key usages; `authority` lets it issue certificates. */
  readonly use: "authority" | readonly CertificateUsage[];
}

/** Issuer's certificate and key; without a certificate the result is self-signed. */
export interface Issuer {
  readonly certificatePem?: string;
  readonly privateKeyPem: string;
}

const SERIAL_BYTES = 16;
/** First bits of the key usage string, as RFC 5280 numbers them. */
const DIGITAL_SIGNATURE = 0x80;
const KEY_ENCIPHERMENT = 0x20;
const CERTIFICATE_SIGN = 0x04;
const CRL_SIGN = 0x02;

/** A new P-256 key. */
export async function generateKeyPair(): Promise<KeyPair> {
  const { privateKey, publicKey } = await promisify(generateNodeKeyPair)("ec", {
    namedCurve: "P-256",
  });
  return {
    privateKeyPem: privateKey.export({ type: "sec1", format: "pem" }).toString(),
    publicKey: publicKey.export({ type: "spki", format: "der" }),
  };
}

/** The pair of a private key (PEM). Throws `OutsideError` "invalid" for what is none. */
export function keyPairOf(privateKeyPem: string): KeyPair {
  const publicKey = createPublicKey(keyOf(privateKeyPem)).export({ type: "spki", format: "der" });
  return { privateKeyPem, publicKey };
}

/** A signing request (PEM) for `subject` under `names`, signed with the key it is about. */
export function createCsr(
  subject: CertificateSubject,
  names: AlternativeNames,
  key: KeyPair,
): string {
  const hasNames = names.dnsNames.length + names.ipAddresses.length > 0;
  const attributes = hasNames ? [extensionRequest(names)] : [];
  return toPem("CERTIFICATE REQUEST", csrOf(encodeSubject(subject), attributes, key));
}

/** A signing request (DER) that only proves possession of the key (KEP-4317). */
export function createStubCsr(key: KeyPair): Uint8Array {
  return csrOf(derSequence(), [], key);
}

function csrOf(subject: Uint8Array, attributes: readonly Uint8Array[], key: KeyPair): Uint8Array {
  const request = derSequence(
    derInteger([0]),
    subject,
    key.publicKey,
    derContext(0, "constructed", ...attributes),
  );
  return signed(request, keyOf(key.privateKeyPem));
}

function extensionRequest(names: AlternativeNames): Uint8Array {
  const extensions = derSequence(extension(OID.subjectAltName, encodeNames(names)));
  return derSequence(derOid(OID.extensionRequest), der(TAG.set, extensions));
}

/** Issues a certificate (PEM). */
export function signCertificate(template: CertificateTemplate, issuer: Issuer): string {
  const key = keyOf(issuer.privateKeyPem);
  const parent =
    issuer.certificatePem === undefined ? undefined : parseCertificate(issuer.certificatePem);
  const subject = encodeSubject(template.subject);
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = derSequence(
    derContext(0, "constructed", derInteger([2])),
    derInteger(serial),
    algorithmOf(key).identifier,
    parent?.subjectDer ?? subject,
    derSequence(derTime(template.notBefore), derTime(template.notAfter)),
    subject,
    template.publicKey,
    derContext(3, "constructed", derSequence(...extensionsFor(template, parent))),
  );
  return toPem("CERTIFICATE", signed(content, key));
}

function extensionsFor(
  { names, publicKey, use, subject }: CertificateTemplate,
  parent: CertificateFacts | undefined,
): readonly Uint8Array[] {
  const authority = use === "authority";
  const encipherment = publicKeyOf(publicKey).asymmetricKeyType === "rsa" ? KEY_ENCIPHERMENT : 0;
  const bits = authority
    ? DIGITAL_SIGNATURE | CERTIFICATE_SIGN | CRL_SIGN
    : DIGITAL_SIGNATURE | encipherment;
  const unused = 31 - Math.clz32(bits & -bits);
  const keyId = keyIdOf(publicKey);
  const parentId = parent ? parent.subjectKeyId : keyId;
  const hasNames = names && names.dnsNames.length + names.ipAddresses.length > 0;
  return [
    extension(OID.keyUsage, derBits(Uint8Array.of(bits), unused), "critical"),
    ...(authority ? [] : [extension(OID.extendedKeyUsage, usageList(use))]),
    extension(
      OID.basicConstraints,
      authority ? derSequence(derBoolean(true)) : derSequence(),
      "critical",
    ),
    extension(OID.subjectKeyId, derOctets(keyId)),
    ...(parentId
      ? [extension(OID.authorityKeyId, derSequence(derContext(0, "primitive", parentId)))]
      : []),
    // Without a subject the names are all there is (RFC 5280, 4.2.1.6).
    ...(hasNames
      ? [
          extension(
            OID.subjectAltName,
            encodeNames(names),
            subject.commonName === "" ? "critical" : undefined,
          ),
        ]
      : []),
  ];
}

function usageList(use: readonly CertificateUsage[]): Uint8Array {
  return derSequence(...use.map((usage) => derOid(OID[usage])));
}

function extension(oid: string, value: Uint8Array, critical?: "critical"): Uint8Array {
  return derSequence(derOid(oid), ...(critical ? [derBoolean(true)] : []), derOctets(value));
}

/** SHA-1 of the key's bits, the usual identifier (RFC 5280, 4.2.1.2). */
function keyIdOf(publicKey: Uint8Array): Uint8Array {
  const [, bits] = childrenOf(readDer(publicKey));
  return createHash("sha1")
    .update(bits ? readBits(bits) : publicKey)
    .digest();
}

/** Content, algorithm and signature in one sequence. */
function signed(content: Uint8Array, key: KeyObject): Uint8Array {
  const { identifier, digest } = algorithmOf(key);
  return derSequence(content, identifier, derBits(sign(digest, content, key)));
}

const ECDSA: Readonly<Record<string, { readonly oid: string; readonly digest: string }>> = {
  prime256v1: { oid: "1.2.840.10045.4.3.2", digest: "sha256" },
  secp384r1: { oid: "1.2.840.10045.4.3.3", digest: "sha384" },
  secp521r1: { oid: "1.2.840.10045.4.3.4", digest: "sha512" },
};

function algorithmOf(key: KeyObject): {
  readonly identifier: Uint8Array;
  readonly digest: string | null;
} {
  const curve = ECDSA[key.asymmetricKeyDetails?.namedCurve ?? ""];
  if (curve) return { identifier: derSequence(derOid(curve.oid)), digest: curve.digest };
  if (key.asymmetricKeyType === "rsa")
    return {
      identifier: derSequence(derOid("1.2.840.113549.1.1.11"), der(TAG.null)),
      digest: "sha256",
    };
  if (key.asymmetricKeyType === "ed25519")
    return { identifier: derSequence(derOid("1.3.101.112")), digest: null };
  throw new OutsideError("invalid", `cannot sign with a key of type ${key.asymmetricKeyType}`);
}

function keyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new OutsideError("invalid", `private key: ${messageOf(error)}`, { cause: error });
  }
}

function publicKeyOf(bytes: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(bytes), type: "spki", format: "der" });
  } catch (error) {
    throw new OutsideError("invalid", `public key: ${messageOf(error)}`, { cause: error });
  }
}

/** Contents of the first certificate of a PEM text. */
export function parseCertificate(pem: string): CertificateFacts {
  const [first] = pemBlocks(pem, "CERTIFICATE");
  if (!first) throw new OutsideError("invalid", "certificate: no PEM block of a certificate");
  return readCertificate(first);
}

/** Contents of all certificates of a PEM text, in order. */
export function parseCertificates(pem: string): readonly CertificateFacts[] {
  return pemBlocks(pem, "CERTIFICATE").map(readCertificate);
}

/** Contents of a certificate in DER. */
export function parseCertificateDer(bytes: Uint8Array): CertificateFacts {
  return readCertificate(bytes);
}

/** Content of a certificate signing request, and whether its signature is valid. */
type ParsedCsr = Pick<CsrFacts, "subject" | "names" | "publicKey"> & {
  /** Whether the requester holds the key. Judged for keys with SHA-2 signatures; else `false`. */
  readonly signatureIsValid: boolean;
};

/** Parses a certificate signing request (PEM). */
export function parseCsr(pem: string): ParsedCsr {
  const [first] = pemBlocks(pem, "CERTIFICATE REQUEST");
  if (!first) throw new OutsideError("invalid", "certificate: no PEM block of a request");
  return parseCsrDer(first);
}

/** Parses a certificate signing request (DER). */
export function parseCsrDer(bytes: Uint8Array): ParsedCsr {
  const { signedPart, signature, ...facts } = readCsr(bytes);
  const key = publicKeyOf(facts.publicKey);
  return {
    ...facts,
    signatureIsValid: verify(algorithmOf(key).digest, signedPart, key, signature),
  };
}

/** Whether the private key is the one that the first certificate is about. */
export function keyBelongsTo(privateKeyPem: string, certificatePem: string): boolean {
  const own = createPublicKey(keyOf(privateKeyPem)).export({ type: "spki", format: "der" });
  return own.equals(parseCertificate(certificatePem).publicKey);
}

/**
 * Whether one of `authorities` (PEM) itself issued the certificate (DER) and both are valid at `now`.
 * Chains over intermediates are TLS's matter: here they count as not issued.
 */
export function isIssuedBy(certificate: Uint8Array, authorities: string, now: WallMs): boolean {
  const leaf = new X509Certificate(Buffer.from(certificate));
  const isValid = (bytes: Uint8Array) => {
    const { notBefore, notAfter } = readCertificate(bytes);
    return notBefore <= now && now <= notAfter;
  };
  return (
    isValid(certificate) &&
    pemBlocks(authorities, "CERTIFICATE").some((bytes) => {
      const authority = new X509Certificate(Buffer.from(bytes));
      return (
        authority.ca &&
        isValid(bytes) &&
        leaf.checkIssued(authority) &&
        leaf.verify(authority.publicKey)
      );
    })
  );
}
