import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../generated/types.ts";
import { identifyPod } from "../pod-identity.ts";
import { hostNetworkHostsFile, hostsFile } from "./etc-hosts.ts";
import { kernelHostname, podHostname } from "./pod-hostname.ts";

const pod = (name: string, spec: Partial<PodSpec> = {}) =>
  identifyPod({
    metadata: { name, namespace: "shop" },
    spec: { containers: [], ...spec },
  });
const DOMAIN = "cluster.local";
const LONG = `${"a".repeat(60)}--.b`;

const NAMES: readonly (readonly [string, Partial<PodSpec>, string, string])[] = [
  ["web-0", {}, "web-0", ""],
  ["web-0", { hostname: "db" }, "db", ""],
  ["web-0", { subdomain: "sub" }, "web-0", "sub.shop.svc.cluster.local"],
  ["web-0", { hostname: "db", subdomain: "sub" }, "db", "sub.shop.svc.cluster.local"],
  ["web-0", { hostnameOverride: "x.y", subdomain: "sub" }, "x.y", ""],
  // Cut at 63 characters, then without what must not be at the end.
  [LONG, {}, "a".repeat(60), ""],
];

for (const [name, spec, hostname, domain] of NAMES)
  test(`podHostname of ${name} ${JSON.stringify(spec)}`, () => {
    assert.deepEqual(podHostname(pod(name, spec), DOMAIN), { hostname, domain });
  });

test("kernelHostname is qualified when asked for, and refused when it does not fit", () => {
  const spec = { subdomain: "sub", setHostnameAsFQDN: true };
  const name = "web-0.sub.shop.svc.cluster.local";
  assert.deepEqual(kernelHostname(pod("web-0", spec), DOMAIN), { kind: "name", name });
  const found = kernelHostname(pod("w".repeat(38), spec), DOMAIN);
  assert.deepEqual(found, {
    kind: "fault",
    message: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${"w".repeat(38)}.sub.shop.svc.cluster.local is too long (64 characters is the max, 65 characters requested)`,
  });
  assert.equal(kernelHostname(pod("w".repeat(37), spec), DOMAIN).kind, "name");
});

test("hostsFile has a line for each address, with the domain when there is one", () => {
  const file = hostsFile({
    podIps: ["10.0.0.2", "fd00::2"],
    hostname: "web",
    domain: "sub.shop.svc.cluster.local",
    aliases: [],
  });
  assert.ok(file.startsWith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"));
  assert.ok(
    file.endsWith(
      "fe00::2\tip6-allrouters\n10.0.0.2\tweb.sub.shop.svc.cluster.local\tweb\nfd00::2\tweb.sub.shop.svc.cluster.local\tweb\n",
    ),
  );
});

test("hostNetworkHostsFile keeps the node's lines as they are", () => {
  const aliases = [{ ip: "192.0.2.1", hostnames: ["a", "b"] }];
  assert.equal(
    hostNetworkHostsFile("# mine\n127.0.0.1 x\n", aliases),
    "# Kubernetes-managed hosts file (host network).\n# mine\n127.0.0.1 x\n\n# Entries added by HostAliases.\n192.0.2.1\ta\tb\n",
  );
});
