// pure
import { type FieldProblem, invalid } from "../decode/field-problem.ts";
import { parseIp } from "../text/ip.ts";

/** Errors of an IP address in a long-standing field (legacy rules). */
export function ipProblems(path: string, text: string): readonly FieldProblem[] {
  const parsed = parseIp(text);
  if (parsed === undefined)
    return [invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
  return [
    ...(parsed.leadingZeros ? [invalid(path, text, "must not have leading 0s")] : []),
    ...(parsed.mappedIpv4 ? [invalid(path, text, "must not be an IPv4-mapped IPv6 address")] : []),
  ];
}
