// pure
import { isIPv4, isIPv6 } from "../../api/text/ip.ts";
import {
  broken,
  childrenOf,
  contextOf,
  type DerElement,
  der,
  derContext,
  derOid,
  derSequence,
  derText,
  readOid,
  TAG,
} from "./der.ts";

/** The subject of a certificate, as Kubernetes uses it: user name and groups, or a server's name. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** Names and addresses under which a server may be reached. */
export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** The subject as a distinguished name, organizations first, as Go writes it. */
export function encodeSubject({ commonName, organizations }: CertificateSubject): Uint8Array {
  return derSequence(
    ...organizations.map((name) => attribute(ORGANIZATION, name)),
    attribute(COMMON_NAME, commonName),
  );
}

function attribute(oid: string, value: string): Uint8Array {
  const text = derText(PRINTABLE.test(value) ? TAG.printable : TAG.utf8, value);
  return der(TAG.set, derSequence(derOid(oid), text));
}

/** Common name (the last, should there be several) and organizations of a distinguished name. */
export function decodeSubject(element: DerElement): CertificateSubject {
  let commonName = "";
  const organizations: string[] = [];
  for (const set of childrenOf(element)) {
    for (const pair of childrenOf(set, TAG.set)) {
      const [type, value] = childrenOf(pair);
      if (!type || !value) throw broken("a name without type or value");
      const oid = readOid(type);
      if (oid === COMMON_NAME) commonName = textOf(value);
      if (oid === ORGANIZATION) organizations.push(textOf(value));
    }
  }
  return { commonName, organizations };
}

/** Text of the kinds in use; others (BMP, T61) and NUL are refused, because readers differ on them. */
function textOf({ tag, content }: DerElement): string {
  if (tag !== TAG.utf8 && tag !== TAG.printable && tag !== TAG.ia5)
    throw broken(`a name of string type ${tag}`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw broken("a name that is not UTF-8");
  }
  if (text.includes("\0")) throw broken("a name with NUL in it");
  return text;
}

/** The names as GeneralNames. An address that is none is an `OutsideError` "invalid". */
export function encodeNames({ dnsNames, ipAddresses }: AlternativeNames): Uint8Array {
  return derSequence(
    ...dnsNames.map((name) => derContext(DNS_NAME, "primitive", new TextEncoder().encode(name))),
    ...ipAddresses.map((address) => derContext(IP_ADDRESS, "primitive", addressBytes(address))),
  );
}

/** DNS names and addresses among GeneralNames; other kinds are left out. */
export function decodeNames(element: DerElement): AlternativeNames {
  const dnsNames: string[] = [];
  const ipAddresses: string[] = [];
  for (const name of childrenOf(element)) {
    if (contextOf(name) === DNS_NAME) dnsNames.push(new TextDecoder().decode(name.content));
    if (contextOf(name) === IP_ADDRESS) ipAddresses.push(addressText(name.content));
  }
  return { dnsNames, ipAddresses };
}

function addressBytes(address: string): Uint8Array {
  if (isIPv4(address)) return Uint8Array.from(address.split(".").map(Number));
  if (!isIPv6(address)) throw broken(`${JSON.stringify(address)} is not an IP address`);
  const [before = "", after] = withoutDots(address).split("::");
  const head = groupsOf(before);
  const tail = groupsOf(after ?? "");
  const missing = after === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** `::ffff:192.0.2.1` with its last part in two groups. */
function withoutDots(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const pair = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
    return `${pair(a, b)}:${pair(c, d)}`;
  });
}

function groupsOf(half: string): readonly number[] {
  return half === "" ? [] : half.split(":").map((group) => Number.parseInt(group, 16));
}

function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) throw broken(`an IP address of ${bytes.length} bytes`);
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  return shortened(groups);
}

/** The longest run of zero groups, the first of equals, written `::` (RFC 5952). */
function shortened(groups: readonly string[]): string {
  let best = { from: 0, length: 1 };
  for (let from = 0; from < groups.length; from += 1) {
    let length = 0;
    while (groups[from + length] === "0") length += 1;
    if (length > best.length) best = { from, length };
  }
  if (best.length < 2) return groups.join(":");
  return `${groups.slice(0, best.from).join(":")}::${groups.slice(best.from + best.length).join(":")}`;
}
