// pure
import type { WallMs } from "../../kit/clock.ts";
import {
  broken,
  childrenOf,
  contextOf,
  type DerElement,
  readDer,
  readOid,
  readTime,
  TAG,
} from "./der.ts";
import {
  type AlternativeNames,
  type CertificateSubject,
  decodeNames,
  decodeSubject,
} from "./names.ts";

/** Object identifiers of extensions, attributes and uses. */
export const OID = {
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  subjectKeyId: "2.5.29.14",
  authorityKeyId: "2.5.29.35",
  extensionRequest: "1.2.840.113549.1.9.14",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** Key usages of a certificate that Kubernetes knows. */
export type CertificateUsage = "serverAuth" | "clientAuth";

/** Contents of a certificate. Nothing of it is verified. */
export interface CertificateFacts {
  readonly subject: CertificateSubject;
  readonly issuer: CertificateSubject;
  readonly names: AlternativeNames;
  readonly notBefore: WallMs;
  readonly notAfter: WallMs;
  /** Lower hex. */
  readonly serial: string;
  readonly isAuthority: boolean;
  /** Empty when the certificate does not limit its use. */
  readonly usages: readonly CertificateUsage[];
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** The subject as encoded, for issuing in its name. */
  readonly subjectDer: Uint8Array;
  readonly subjectKeyId: Uint8Array | undefined;
}

const EMPTY_NAMES: AlternativeNames = { dnsNames: [], ipAddresses: [] };

/** Takes a certificate (DER) apart; an `OutsideError` "invalid" when it is none. */
export function readCertificate(bytes: Uint8Array): CertificateFacts {
  const [signed] = childrenOf(readDer(bytes));
  if (!signed) throw broken("empty");
  const fields = childrenOf(signed);
  const versioned = fields[0] !== undefined && contextOf(fields[0]) === 0 ? 1 : 0;
  const [serial, , issuer, validity, subject, publicKey] = fields.slice(versioned);
  if (!serial || !issuer || !validity || !subject || !publicKey) throw broken("fields are missing");
  const [notBefore, notAfter] = childrenOf(validity);
  if (!notBefore || !notAfter) throw broken("no validity");
  const extensions = fields.find((field) => contextOf(field) === 3);
  const found = extensions ? extensionsOf(readDer(extensions.content)) : new Map();
  return {
    subject: decodeSubject(subject),
    issuer: decodeSubject(issuer),
    notBefore: readTime(notBefore),
    notAfter: readTime(notAfter),
    serial: Array.from(serial.content, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    publicKey: publicKey.whole,
    subjectDer: subject.whole,
    ...readExtensions(found),
  };
}

type Extensions = ReadonlyMap<string, DerElement>;

/** The extensions by object identifier, each as the element inside its octet string. */
export function extensionsOf(list: DerElement): Extensions {
  return new Map(
    childrenOf(list).map((extension) => {
      const parts = childrenOf(extension);
      const [oid] = parts;
      const value = parts.at(-1);
      if (!oid || value?.tag !== TAG.octetString) throw broken("an extension without value");
      return [readOid(oid), readDer(value.content)];
    }),
  );
}

/** The names that a list of extensions gives. */
export function namesIn(extensions: Extensions): AlternativeNames {
  const names = extensions.get(OID.subjectAltName);
  return names ? decodeNames(names) : EMPTY_NAMES;
}

function readExtensions(
  extensions: Extensions,
): Pick<CertificateFacts, "names" | "isAuthority" | "usages" | "subjectKeyId"> {
  const constraints = extensions.get(OID.basicConstraints);
  const [authority] = constraints ? childrenOf(constraints) : [];
  const usage = extensions.get(OID.extendedKeyUsage);
  const usages = (usage ? childrenOf(usage) : []).map(readOid);
  return {
    names: namesIn(extensions),
    isAuthority: authority?.tag === TAG.boolean && authority.content[0] === 0xff,
    usages: (["serverAuth", "clientAuth"] as const).filter((name) => usages.includes(OID[name])),
    subjectKeyId: extensions.get(OID.subjectKeyId)?.content,
  };
}

/** Parses a certificate signing request. Its signature is not checked here. */
export interface CsrFacts {
  readonly subject: CertificateSubject;
  readonly names: AlternativeNames;
  readonly publicKey: Uint8Array;
  /** Signed content and its signature. */
  readonly signedPart: Uint8Array;
  readonly signature: Uint8Array;
}

/** Takes a PKCS #10 request (DER) apart; an `OutsideError` "invalid" when it is none. */
export function readCsr(bytes: Uint8Array): CsrFacts {
  const [request, , signature] = childrenOf(readDer(bytes));
  if (!request || !signature) throw broken("fields of the request are missing");
  const [, subject, publicKey, attributes] = childrenOf(request);
  if (!subject || !publicKey) throw broken("fields of the request are missing");
  return {
    subject: decodeSubject(subject),
    names: attributes ? requestedNames(attributes) : EMPTY_NAMES,
    publicKey: publicKey.whole,
    signedPart: request.whole,
    signature: signature.content.subarray(1),
  };
}

function requestedNames(attributes: DerElement): AlternativeNames {
  for (const attribute of childrenOf(attributes, attributes.tag)) {
    const [oid, values] = childrenOf(attribute);
    if (!oid || !values || readOid(oid) !== OID.extensionRequest) continue;
    const [extensions] = childrenOf(values, TAG.set);
    if (extensions) return namesIn(extensionsOf(extensions));
  }
  return EMPTY_NAMES;
}
