// What pods get of the node's resolver file, through the whole agent.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { type ClusterWorld, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";

const SLEEP: Program = { kind: "sleep" };
const PODS = { collection: "pods", namespace: "default" };
const FILE = "/etc/pods.conf";

function create({ api }: ClusterWorld, name: string, dnsPolicy: string): void {
  const template = podOf(name, SLEEP, "Always") as unknown as Pod;
  const pod = { ...template, spec: { ...template.spec, dnsPolicy } };
  api.objects.create(PODS, pod as unknown as StoredObject);
}

/** The resolver that the pod's sandbox was made with; `undefined` while it has none. */
function dnsOf({ world }: ClusterWorld, name: string) {
  const found = [...world.runtime.sandboxes.values()].find(
    ({ config }) => config.metadata?.name === name,
  );
  return found && { servers: [], searches: [], options: [], ...found.config.dnsConfig };
}

const eventsOf = ({ api }: ClusterWorld, reason: string): readonly string[] => [
  ...new Set(
    api.objects
      .list("events")
      .map((each) => each as unknown as { readonly reason: string; readonly message: string })
      .filter((each) => each.reason === reason)
      .map(({ message }) => message),
  ),
];

const inPlace = (use: (cluster: ClusterWorld) => Promise<void>, resolvConf = FILE) =>
  inCluster(
    use,
    {},
    {
      config: { resolvConf, clusterDNS: ["10.96.0.10"], clusterDomain: "cluster.local" },
    },
  );

const CLUSTER = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"];

test("`search .` of the node's file is not a domain of any pod", () =>
  inPlace(async (cluster) => {
    const { world } = cluster;
    const text = "nameserver 192.0.2.1\noptions edns0\nsearch .\n";
    await world.host.files.writeAtomic(FILE, text, 0o644);
    create(cluster, "own", "Default");
    create(cluster, "first", "ClusterFirst");
    await world.advance(15_000);
    assert.deepEqual(dnsOf(cluster, "own"), {
      servers: ["192.0.2.1"],
      searches: [],
      options: ["edns0"],
    });
    assert.deepEqual(dnsOf(cluster, "first"), {
      servers: ["10.96.0.10"],
      searches: CLUSTER,
      options: ["ndots:5"],
    });
  }));

test("without a file of the node the cluster's domains stand alone", () =>
  inPlace(async (cluster) => {
    create(cluster, "own", "Default");
    create(cluster, "first", "ClusterFirst");
    await cluster.world.advance(15_000);
    assert.deepEqual(dnsOf(cluster, "own")?.searches, ["."]);
    assert.deepEqual(dnsOf(cluster, "first")?.searches, CLUSTER);
  }, ""));

const EMPTY =
  "resolvConf: /etc/pods.conf has no nameserver, search or options, and the container runtime would use /etc/resolv.conf instead: add what pods are to get, or name another file";
const DAMAGED =
  "Encountered error while parsing resolv conf file. Error: nameserver list is empty ";

/** What is in the file, what is said of it, and whether the node says so when it starts. */
const ROWS = [
  ["missing", undefined, `open ${FILE}: no such file or directory`, true],
  ["empty", "", EMPTY, false],
  ["of comments", "# nothing\nsearch .\n", EMPTY, false],
  ["damaged", "nameserver 192.0.2.1\nnameserver\n", DAMAGED, true],
] as const;

for (const [what, text, message, isOfNode] of ROWS)
  test(`a pod gets no sandbox while the configured resolver file is ${what}`, () =>
    inPlace(async (cluster) => {
      const { world, pod } = cluster;
      if (text !== undefined) await world.host.files.writeAtomic(FILE, text, 0o644);
      create(cluster, "own", "Default");
      await world.advance(30_000);
      assert.equal(dnsOf(cluster, "own"), undefined);
      assert.equal(pod("own")?.status?.phase, "Pending");
      assert.deepEqual(eventsOf(cluster, "FailedCreatePodSandBox"), [
        `Failed to create pod sandbox: ${message}`,
      ]);
      const ofNode = eventsOf(cluster, "CheckLimitsForResolvConf");
      if (isOfNode) assert.ok(ofNode.includes(message), `${ofNode}`);
      await world.host.files.writeAtomic(FILE, "nameserver 192.0.2.7\n", 0o644);
      await world.advance(120_000);
      assert.deepEqual(dnsOf(cluster, "own")?.servers, ["192.0.2.7"]);
      assert.equal(pod("own")?.status?.phase, "Running");
    }));
