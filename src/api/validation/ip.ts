// pure
import { type FieldProblem, invalid } from "../decode/field-problem.ts";

const OCTETS = /^(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/;
const GROUP = /^[0-9a-fA-F]{1,4}$/;
/** The longest way to write an IPv6 address, with room for leading zeros. */
const MAX_LENGTH = 100;

interface ParsedIp {
  readonly leadingZeros: boolean;
  readonly mappedIpv4: boolean;
}

function parseIpv4(text: string): ParsedIp | undefined {
  const octets = OCTETS.exec(text)?.slice(1);
  if (octets === undefined || octets.some((octet) => Number(octet) > 255)) return undefined;
  return {
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
    leadingZeros: ipv4?.leadingZeros ?? false,
    mappedIpv4: groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff,
  };
}

/** What is wrong with an IP address in a field that has always been one. */
export function ipProblems(path: string, text: string): readonly FieldProblem[] {
  const parsed =
    text.length > MAX_LENGTH ? undefined : text.includes(":") ? parseIpv6(text) : parseIpv4(text);
  if (parsed === undefined)
    return [invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
  return [
    ...(parsed.leadingZeros ? [invalid(path, text, "must not have leading 0s")] : []),
    ...(parsed.mappedIpv4 ? [invalid(path, text, "must not be an IPv4-mapped IPv6 address")] : []),
  ];
}
