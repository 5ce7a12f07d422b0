import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../../api/generated/types.ts";
import { planRoutes, podRules, routeChanges, routesIn } from "./plan-routes.ts";

function node(name: string, podCIDRs: readonly string[] | undefined, ...internal: string[]): Node {
  return {
    metadata: { name },
    spec: podCIDRs === undefined ? {} : { podCIDRs },
    status: {
      addresses: [
        { type: "ExternalIP", address: "203.0.113.9" },
        ...internal.map((address) => ({ type: "InternalIP", address })),
      ],
    },
  };
}

test("planRoutes: to the pods of every other node that has addresses for them, by its internal IPv4 address", () =>
  assert.deepEqual(
    planRoutes(
      [
        node("three", ["fd00:1::/64", "10.85.2.0/24"], "2001:db8::3", "10.0.0.3"),
        node("two", ["10.85.1.0/24"], "10.0.0.2"),
        node("one", ["10.85.0.0/24"], "10.0.0.1"),
        node("without-pods", undefined, "10.0.0.4"),
        node("without-address", ["10.85.5.0/24"]),
        node("only-ipv6", ["fd00:2::/64"], "10.0.0.6"),
        { metadata: { name: "old" }, spec: { podCIDR: "10.85.7.0/24" }, status: {} },
      ],
      "one",
    ),
    [
      { pods: "10.85.1.0/24", via: "10.0.0.2", node: "two" },
      { pods: "10.85.2.0/24", via: "10.0.0.3", node: "three" },
    ],
  ));

test("planRoutes: the older field counts where there is no list", () =>
  assert.deepEqual(
    planRoutes(
      [
        {
          metadata: { name: "two" },
          spec: { podCIDR: "10.85.1.0/24" },
          status: { addresses: [{ type: "InternalIP", address: "10.0.0.2" }] },
        },
      ],
      "one",
    ),
    [{ pods: "10.85.1.0/24", via: "10.0.0.2", node: "two" }],
  ));

const TWO = { pods: "10.85.1.0/24", via: "10.0.0.2", node: "two" };
const THREE = { pods: "10.85.2.0/24", via: "10.0.0.3", node: "three" };

test("routeChanges: what is right stays, what leads elsewhere is replaced, what is not needed goes", () => {
  const made = routesIn(
    "10.85.1.0/24 via 10.0.0.2 dev eth0 \n10.85.2.0/24 via 10.0.0.9 dev eth0 \n10.85.4.0/24 via 10.0.0.5 dev eth0 \n10.85.0.0/24 dev nodelet1 scope link \n",
  );
  assert.deepEqual(routeChanges(made, [TWO, THREE]), {
    add: [THREE],
    remove: ["10.85.2.0/24", "10.85.4.0/24"],
  });
  assert.deepEqual(routeChanges(new Map(), [TWO]), { add: [TWO], remove: [] });
  assert.deepEqual(routeChanges(routesIn(""), []), { add: [], remove: [] });
});

test("podRules: packets to the pods of other nodes keep their address unless the proxy of Services asks for another", () =>
  assert.equal(
    podRules([TWO]),
    "*nat\n:NODELET-PODS - [0:0]\n-A NODELET-PODS -d 10.85.1.0/24 -m mark ! --mark 0x4000/0x4000 -j ACCEPT\nCOMMIT\n",
  ));
