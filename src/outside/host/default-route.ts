// pure
/** Which address of the machine others reach it by, from the kernel's routes (apimachinery util/net ChooseHostInterface). */

/** An address of an interface. */
export interface InterfaceAddress {
  readonly interface: string;
  readonly address: string;
}

/** Texts of `/proc/net/route` and `/proc/net/ipv6_route`; empty where the kernel has none. */
interface RouteTexts {
  readonly v4: string;
  readonly v6: string;
}

/** RTF_UP and RTF_REJECT (linux/route.h). */
const UP = 0x1;
const REJECT = 0x200;

const isUsable = (flags: string | undefined): boolean => {
  const bits = Number.parseInt(flags ?? "", 16);
  return (bits & UP) !== 0 && (bits & REJECT) === 0;
};

interface Route {
  readonly interface: string;
  readonly metric: number;
}

const byMetric = (routes: readonly Route[]): readonly string[] =>
  routes.toSorted((a, b) => a.metric - b.metric).map((route) => route.interface);

const rowsOf = (text: string): readonly (readonly string[])[] =>
  text.split("\n").map((line) => line.trim().split(/\s+/));

/** Interfaces of the default routes in a `/proc/net/route`, lowest metric first. */
export function parseDefaultRoutes(text: string): readonly string[] {
  const routes = rowsOf(text).flatMap(([name = "", to, , flags, , , metric, mask]) =>
    to === "00000000" && mask === "00000000" && isUsable(flags)
      ? [{ interface: name, metric: Number(metric) }]
      : [],
  );
  return byMetric(routes);
}

/** Interfaces of the default routes in a `/proc/net/ipv6_route`, lowest metric first. */
export function parseDefaultRoutes6(text: string): readonly string[] {
  const routes = rowsOf(text).flatMap((fields) => {
    const [to = "", length, , , , metric = "", , , flags, name = ""] = fields;
    return /^0{32}$/.test(to) && length === "00" && name !== "lo" && isUsable(flags)
      ? [{ interface: name, metric: Number.parseInt(metric, 16) }]
      : [];
  });
  return byMetric(routes);
}

/**
 * Addresses in the order in which the machine is to be reached by them: IPv4 of the default routes, IPv6 of theirs,
 * then all others, IPv4 first; those of one link only are last.
 */
export function rankAddresses(
  found: readonly InterfaceAddress[],
  { v4, v6 }: RouteTexts,
): readonly string[] {
  const defaults4 = parseDefaultRoutes(v4);
  const defaults6 = parseDefaultRoutes6(v6);
  const rank = (each: InterfaceAddress): number => {
    const isV6 = each.address.includes(":");
    if (/^(?:169\.254\.|fe[89ab])/i.test(each.address)) return OTHERS + 2;
    const route = (isV6 ? defaults6 : defaults4).indexOf(each.interface);
    if (route >= 0) return Math.min(route, FAMILY - 1) + (isV6 ? FAMILY : 0);
    return OTHERS + (isV6 ? 1 : 0);
  };
  return found.toSorted((a, b) => rank(a) - rank(b)).map(({ address }) => address);
}

/** More default routes of a family than this count as equal. */
const FAMILY = 1_000;
const OTHERS = 2 * FAMILY;
