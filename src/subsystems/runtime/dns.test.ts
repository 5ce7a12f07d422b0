import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { UsageError } from "../../kit/errors.ts";
import {
  dnsFaults,
  NO_DNS,
  noResolver,
  parseResolvConf,
  podDns,
  resolvConfFault,
  sandboxDns,
} from "./dns.ts";
import { Resolver } from "./resolver.ts";
import type { PodDns } from "./sandbox-config.ts";

const dns = (more: Partial<PodDns>): PodDns => ({
  servers: [],
  searches: [],
  options: [],
  ...more,
});
const pod: Pod = {
  metadata: { namespace: "shop" },
  spec: { containers: [], dnsPolicy: "Default" },
};

/** Text of a resolv.conf, what is read of it. */
const FILES: readonly (readonly [string, PodDns])[] = [
  ["", dns({})],
  [
    "nameserver 192.0.2.1\n nameserver\t2001:db8::1 \n",
    dns({ servers: ["192.0.2.1", "2001:db8::1"] }),
  ],
  [
    "# nameserver 192.0.2.9\n; search no.example\nsearch a.example # why\n",
    dns({ searches: ["a.example"] }),
  ],
  [
    "search a.example\nsearch b.example c.example.\n",
    dns({ searches: ["b.example", "c.example"] }),
  ],
  // systemd-resolved writes `search .` when there are no search domains; musl resolves nothing with it.
  [
    "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n",
    dns({ servers: ["127.0.0.53"], options: ["edns0", "trust-ad"] }),
  ],
  ["search . foo\n", dns({ searches: ["foo"] })],
  ["search foo .  bar\n", dns({ searches: ["foo", "bar"] })],
  ["search foo\nsearch .\n", dns({})],
  ["search ..\n", dns({ searches: ["."] })],
  ["options ndots:5 rotate\noptions ndots:2\n", dns({ options: ["ndots:2", "rotate"] })],
];

for (const [text, expected] of FILES)
  test(`parseResolvConf reads ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseResolvConf(text), expected);
  });

for (const text of [
  "nameserver",
  "#comment\nnameserver\nsearch",
  "nameserver 192.0.2.1\nnameserver ",
])
  test(`parseResolvConf refuses ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseResolvConf(text),
      new UsageError(
        "Encountered error while parsing resolv conf file. Error: nameserver list is empty ",
      ),
    );
  });

test("sandboxDns refuses an empty file that the runtime would take another one for", () => {
  const host = parseResolvConf("# nothing yet\nsearch .\n");
  const cluster = { servers: [], domain: "c.local", host };
  assert.deepEqual(sandboxDns(pod, cluster), dns({}), "the runtime takes the same file");
  const other = { ...cluster, path: "/etc/pods.conf" };
  assert.throws(
    () => sandboxDns(pod, other),
    /^UsageError: resolvConf: \/etc\/pods.conf has no nameserver, search or options/,
  );
  const own = { ...pod, spec: { ...pod.spec, dnsConfig: { nameservers: ["192.0.2.1"] } } } as Pod;
  assert.deepEqual(sandboxDns(own, other), dns({ servers: ["192.0.2.1"] }));
  const first = { ...pod, spec: { ...pod.spec, dnsPolicy: "ClusterFirst" } } as Pod;
  assert.deepEqual(sandboxDns(first, { ...other, servers: ["10.96.0.10"] }).servers, [
    "10.96.0.10",
  ]);
});

test("podDns: link-local servers with a scope are for pods in the node's network only", () => {
  const servers = ["fe80::1%eth0", "FEB0::2%1", "fe80::3", "2001:db8::1%x", "192.0.2.1"];
  const cluster = { servers: [], domain: "c.local", host: dns({ servers, searches: ["a"] }) };
  assert.deepEqual(
    podDns(pod, cluster),
    dns({ servers: ["fe80::3", "2001:db8::1%x", "192.0.2.1"], searches: ["a"] }),
  );
  const first = { ...pod, spec: { ...pod.spec, dnsPolicy: "ClusterFirst" } } as Pod;
  assert.deepEqual(podDns(first, cluster), podDns(pod, cluster), "without a cluster's resolver");
  const onHost = { ...pod, spec: { ...pod.spec, hostNetwork: true } } as Pod;
  assert.deepEqual(podDns(onHost, cluster).servers, servers.slice(0, 3));
  assert.deepEqual(dnsFaults(pod, cluster), [], "what cannot be reached is not missed");
});

test("podDns: no file of the node adds nothing to the domains of a cluster", () => {
  const first = { ...pod, spec: { ...pod.spec, dnsPolicy: "ClusterFirst" } } as Pod;
  const cluster = { servers: ["10.96.0.10"], domain: "c.local", host: NO_DNS, nodeIps: [] };
  assert.deepEqual(podDns(first, cluster).searches, ["shop.svc.c.local", "svc.c.local", "c.local"]);
  assert.deepEqual(podDns(pod, cluster), noResolver([]));
});

test("noResolver is the node's loopback of each family", () => {
  assert.deepEqual(noResolver([]), dns({ servers: ["127.0.0.1"], searches: ["."] }));
  const both = ["192.0.2.1", "2001:db8::1", "192.0.2.2"];
  assert.deepEqual(noResolver(both).servers, ["127.0.0.1", "::1"]);
});

const long = (character: string, length: number) => character.repeat(length);

/** Searches of the node, those that a pod gets, and what is wrong with the node's file. */
const SEARCHES: readonly (readonly [readonly string[], number, RegExp | undefined])[] = [
  [Array.from({ length: 32 }, (_, i) => `d${i}`), 32, undefined],
  [
    Array.from({ length: 33 }, (_, i) => `d${i}`),
    32,
    /search line consisting of more than 32 domains!$/,
  ],
  [[long("a", 253), "b"], 2, undefined],
  [
    [long("a", 254), "b"],
    1,
    /^Resolv.conf file "\/r" contains a search path which length is more than allowed 253 chars!$/,
  ],
  [Array.from({ length: 20 }, () => long("a", 101)), 20, undefined],
  // 20 of them and what separates them are 2,039 characters, with one of nine more they are too many.
  [[...Array.from({ length: 20 }, () => long("a", 101)), long("b", 8)], 21, undefined],
  [
    [...Array.from({ length: 20 }, () => long("a", 101)), long("b", 9)],
    20,
    /length is more than allowed 2048 chars!$/,
  ],
];

for (const [searches, kept, fault] of SEARCHES)
  test(`podDns keeps ${kept} of ${searches.length} domains of ${searches.join(" ").length} characters`, () => {
    const cluster = { servers: [], domain: "", host: dns({ searches }) };
    assert.equal(podDns(pod, cluster).searches.length, kept);
    const faults = dnsFaults(pod, cluster);
    assert.equal(faults.length, kept < searches.length ? 1 : 0);
    const found = resolvConfFault("/r", cluster);
    if (fault) assert.match(found ?? "", fault);
    else assert.equal(found, undefined);
  });

const FILE = { kind: "file", mode: 0o644, groupId: 0 } as const;

test("Resolver reads the present file at most ten times a second, only once it has changed, and reports a problem once", async () => {
  let text: string | undefined = "nameserver 192.0.2.1";
  let reads = 0;
  let checks = 0;
  let now = 0;
  let modifiedMs = -60_000;
  let version = "1";
  const reported: string[] = [];
  const options = { servers: ["10.96.0.10"], domain: "c.local", nodeIps: ["192.0.2.7"] };
  const deps = {
    files: {
      facts: async () => {
        checks += 1;
        const sizeBytes = text?.length ?? 0;
        return text === undefined ? undefined : { ...FILE, version, sizeBytes, modifiedMs };
      },
      readText: async () => {
        reads += 1;
        return text;
      },
    },
    clock: { monotonic: () => now as MonotonicMs, wall: () => now as WallMs },
    events: { ofNode: ({ message }: { message: string }) => void reported.push(message) },
  };
  const resolver = new Resolver({ ...options, resolvConf: "/r" }, deps);
  const readLater = () => {
    now += 100;
    return resolver.read();
  };
  const atOnce = await Promise.all([resolver.read(), resolver.read(), resolver.read()]);
  for (const { host } of atOnce) assert.deepEqual(host.servers, ["192.0.2.1"]);
  await readLater();
  assert.deepEqual([checks, reads], [2, 1], "it has not changed");
  text = "nameserver 192.0.2.2";
  modifiedMs = now;
  now += 99;
  assert.deepEqual((await resolver.read()).host.servers, ["192.0.2.1"]);
  assert.deepEqual([checks, reads], [2, 1]);
  now += 1;
  assert.deepEqual((await resolver.read()).host.servers, ["192.0.2.2"]);
  text = "nameserver 192.0.2.3";
  assert.deepEqual(
    (await readLater()).host.servers,
    ["192.0.2.3"],
    "its time of change does not distinguish two changes at one moment",
  );
  now += 2_000;
  await readLater();
  const before = reads;
  for (let i = 0; i < 5; i += 1) await readLater();
  assert.equal(reads, before);
  text = "nameserver 192.0.2.4 ";
  assert.deepEqual((await readLater()).host.servers, ["192.0.2.4"], "its size has changed");
  text = "nameserver 192.0.2.5 ";
  version = "2";
  assert.deepEqual((await readLater()).host.servers, ["192.0.2.5"], "it is another file");
  text = undefined;
  const missing = { code: "notFound", message: "open /r: no such file or directory" };
  await assert.rejects(readLater, missing);
  await assert.rejects(readLater, missing);
  assert.deepEqual(reported.splice(0), [missing.message]);
  text = "nameserver";
  await assert.rejects(readLater, UsageError);
  assert.equal(reported.splice(0).length, 1);
  const bad = `search ${long("a", 254)}`;
  for (text of [bad, bad, "", bad]) await readLater();
  assert.equal(reported.length, 2);
  const none = new Resolver({ ...options, resolvConf: "" }, deps);
  assert.deepEqual(podDns(pod, { ...(await none.read()), servers: [] }), {
    ...dns({ servers: ["127.0.0.1"], searches: ["."] }),
  });
});
