import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDefaultRoutes, parseDefaultRoutes6, rankAddresses } from "./default-route.ts";

const HEAD =
  "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const v4 = (name: string, to: string, flags: string, metric: number, mask: string) =>
  `${name}\t${to}\t010011AC\t${flags}\t0\t0\t${metric}\t${mask}\t0\t0\t0   \n`;
const v6 = (name: string, to: string, length: string, metric: string, flags: string) =>
  `${to} ${length} ${"0".repeat(32)} 00 fe800000000000000000000000000001 ${metric} 00000001 00000000 ${flags} ${name.padStart(8)}\n`;
const ANY = "00000000";
const ANY6 = "0".repeat(32);
const DOCKER = v4("docker0", "000011AC", "0001", 0, "0000FFFF");

const ROUTES: readonly (readonly [string, string, readonly string[]])[] = [
  ["no file", "", []],
  ["no default route", HEAD + DOCKER, []],
  ["one", HEAD + DOCKER + v4("eth0", ANY, "0003", 100, ANY), ["eth0"]],
  ["without a gateway", HEAD + v4("ppp0", ANY, "0001", 0, ANY), ["ppp0"]],
  [
    "two NICs, by metric",
    HEAD + v4("wlan0", ANY, "0003", 600, ANY) + v4("eth0", ANY, "0003", 100, ANY),
    ["eth0", "wlan0"],
  ],
  ["half of everything is no default route", HEAD + v4("tun0", ANY, "0003", 0, "00000080"), []],
  ["rejected", HEAD + v4("lo", ANY, "0201", 0, ANY), []],
  ["damaged", `${HEAD}eth0\n\n  \neth0 ${ANY}`, []],
];

for (const [name, text, expected] of ROUTES)
  test(`parseDefaultRoutes: ${name}`, () => assert.deepEqual(parseDefaultRoutes(text), expected));

const ROUTES6: readonly (readonly [string, string, readonly string[]])[] = [
  ["no file", "", []],
  ["a network", v6("eth0", `20010db8${"0".repeat(24)}`, "40", "00000100", "00000001"), []],
  ["one", v6("eth0", ANY6, "00", "00000400", "00000003"), ["eth0"]],
  ["the kernel's own rejection", v6("lo", ANY6, "00", "ffffffff", "00200200"), []],
  [
    "by metric",
    v6("b", ANY6, "00", "00000400", "00000003") + v6("a", ANY6, "00", "00000064", "00450003"),
    ["a", "b"],
  ],
];

for (const [name, text, expected] of ROUTES6)
  test(`parseDefaultRoutes6: ${name}`, () => assert.deepEqual(parseDefaultRoutes6(text), expected));

const FOUND = [
  { interface: "docker0", address: "172.17.0.1" },
  { interface: "docker0", address: "fe80::42" },
  { interface: "eth1", address: "10.9.0.2" },
  { interface: "eth0", address: "2001:db8::10" },
  { interface: "eth0", address: "192.0.2.10" },
];
const VIA_ETH0 = HEAD + DOCKER + v4("eth0", ANY, "0003", 0, ANY);
const VIA_ETH0_6 = v6("eth0", ANY6, "00", "00000400", "00000003");

test("rankAddresses: the default route's first, IPv4 before IPv6, one link's last", () => {
  assert.deepEqual(rankAddresses(FOUND, { v4: VIA_ETH0, v6: VIA_ETH0_6 }), [
    ...["192.0.2.10", "2001:db8::10", "172.17.0.1", "10.9.0.2", "fe80::42"],
  ]);
});

test("rankAddresses: a default route of IPv6 only goes before other networks", () => {
  const [first] = rankAddresses(FOUND, { v4: HEAD + DOCKER, v6: VIA_ETH0_6 });
  assert.equal(first, "2001:db8::10");
});

test("rankAddresses: without default routes IPv4 in the order found", () => {
  assert.deepEqual(rankAddresses(FOUND, { v4: "", v6: "" }), [
    ...["172.17.0.1", "10.9.0.2", "192.0.2.10", "2001:db8::10", "fe80::42"],
  ]);
  assert.deepEqual(rankAddresses([], { v4: VIA_ETH0, v6: "" }), []);
});
