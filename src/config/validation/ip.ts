// pure

const OCTET = /^(0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** Whether `text` is an IPv4 address in dotted form. */
export function isIPv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => OCTET.test(part) && Number(part) <= 255);
}

/** Whether `text` is an IPv6 address, zones left out. */
export function isIPv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1);
  const mapped = last?.includes(".") === true;
  if (mapped && (!isIPv4(last ?? "") || text.endsWith("::"))) return false;
  const plain = mapped ? groups.slice(0, -1) : groups;
  if (!plain.every((group) => GROUP.test(group))) return false;
  const width = plain.length + (mapped ? 2 : 0);
  return halves.length === 2 ? width <= 7 : width === 8;
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
