// The node's address on a machine with several networks, and what becomes of it when they change.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../../src/api/generated/types.ts";
import { type Box, withBox } from "../box/box.ts";
import { NodeBox } from "../cli/node-box.ts";
import { KUBECONFIG, Kubectl, PROGRAMS, programOf } from "../localapi/kubectl.ts";
import { BoxedAgent } from "../support/agent.ts";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;

/** The first in the list is a bridge of containers, the last one has the default route. */
const NETWORK = `set -e
ip link del eth0
for link in docker0=172.17.0.1/16 eth1=10.9.0.2/24 eth0=198.51.100.10/24; do
  name=\${link%=*}
  ip link add "$name" type veth peer name "$name-wire"
  ip address add "\${link#*=}" dev "$name"
  ip link set "$name-wire" up
  ip link set "$name" up
done
ip route add default via 198.51.100.1
printf '127.0.0.1 localhost\\n127.0.1.1 edge-1\\n' >/etc/hosts`;

/** What is done to the machine, and the address of the node after it. */
const CHANGES: readonly (readonly [string, string, string])[] = [
  [
    "another address",
    `ip address del 198.51.100.10/24 dev eth0
     ip address add 198.51.100.77/24 dev eth0
     ip route add default via 198.51.100.1`,
    "198.51.100.77",
  ],
  ["DNS names the other network", "echo 10.9.0.2 edge-1 >>/etc/hosts", "10.9.0.2"],
  ["that network goes down", "ip link set eth1 down", "198.51.100.77"],
];

async function startNode(box: Box): Promise<{ readonly agent: BoxedAgent; ip(): Promise<string> }> {
  const env = {
    NODELET_API_FOLDER: "/var/lib/nodelet/api",
    NODELET_API_KUBECONFIG: KUBECONFIG,
  };
  const agent = await BoxedAgent.start(box, { env });
  const kubectl = new Kubectl(new NodeBox(box), program ?? "");
  return {
    agent,
    ip: async () => {
      const node = JSON.parse(await kubectl.run(["get", "node", "edge-1", "-o", "json"])) as Node;
      const ips = node.status?.addresses?.filter(({ type }) => type === "InternalIP") ?? [];
      return ips.map(({ address }) => address).join();
    },
  };
}

test("the node has the address of the default route, and follows networks and DNS", { skip }, () =>
  withBox({ hostname: "edge-1" }, async (box) => {
    await box.run(["sh", "-c", NETWORK]);
    const listed = await box.run(["sh", "-c", "ip -o -4 address show up scope global"]);
    assert.match(listed, /^\d+: docker0 /, "a bridge is the first in the list");
    const { agent, ip } = await startNode(box);
    await agent.until("the node is there", async () => (await ip().catch(() => "")) !== "");
    assert.equal(await ip(), "198.51.100.10");
    for (const [what, script, expected] of CHANGES) {
      await box.run(["sh", "-c", `set -e\n${script}`]);
      const ms = await agent.until(what, async () => (await ip()) === expected);
      console.log(`${what}: the node follows after ${Math.round(ms)} ms`);
    }
  }),
);
