// pure

const OCTETS = /^(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/;
const GROUP = /^[0-9a-fA-F]{1,4}$/;
/** The longest way to write an IPv6 address, leading zeros included. */
const MAX_LENGTH = 100;

/** An address as programs read it that are not strict. */
interface ParsedIp {
  readonly family: "IPv4" | "IPv6";
  /** An IPv4 part has numbers like `010`, which some programs take for octal. */
  readonly leadingZeros: boolean;
  /** `::ffff:1.2.3.4` in any spelling. */
  readonly mappedIpv4: boolean;
}

/** Parses an IP address; `undefined` when the text is none. Zones are not accepted. */
export function parseIp(text: string): ParsedIp | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** Whether `text` is an IPv4 address in dotted form. */
export function isIPv4(text: string): boolean {
  return isStrict(text, "IPv4");
}

/** Whether `text` is an IPv6 address, zones left out. */
export function isIPv6(text: string): boolean {
  return isStrict(text, "IPv6");
}

/** Whether `text` is an IP address. */
export function isIP(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}

/** An IP address in the one form that programs print: IPv6 in lower case, its longest run of zeros left out. */
export function canonicalAddress(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}

/** Whether a canonical address stands for all addresses of its family. */
export function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

function isStrict(text: string, family: ParsedIp["family"]): boolean {
  const parsed = parseIp(text);
  return parsed?.family === family && !parsed.leadingZeros;
}

function parseIpv4(text: string): ParsedIp | undefined {
  const octets = OCTETS.exec(text)?.slice(1);
  if (octets === undefined || octets.some((octet) => Number(octet) > 255)) return undefined;
  return {
    family: "IPv4",
    leadingZeros: octets.some((octet) => octet.length > 1 && octet.startsWith("0")),
    mappedIpv4: false,
  };
}

/** The groups of one side of `::`, `undefined` when one of them is none. */
function groupsOf(text: string): readonly number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  return groups.every((group) => GROUP.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined;
}

function parseIpv6(text: string): ParsedIp | undefined {
  const colon = text.lastIndexOf(":");
  const tail = text.slice(colon + 1);
  const ipv4 = tail.includes(".") ? parseIpv4(tail) : undefined;
  if (tail.includes(".") && ipv4 === undefined) return undefined;
  const plain = ipv4 === undefined ? text : `${text.slice(0, colon + 1)}0:0`;
  const halves = plain.split("::");
  if (halves.length > 2) return undefined;
  const [head, rest] = [groupsOf(halves[0] ?? ""), groupsOf(halves[1] ?? "")];
  if (head === undefined || rest === undefined) return undefined;
  const missing = 8 - head.length - rest.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array<number>(Math.max(missing, 0)).fill(0), ...rest];
  return {
    family: "IPv6",
    leadingZeros: ipv4?.leadingZeros ?? false,
    mappedIpv4: groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff,
  };
}
