/** What an agent answers of pods and of the node to `nodelet why`. */
import type { DecisionInputs, DecisionKind } from "../../src/api/decisions.ts";
import type { Pod } from "../../src/api/generated/types.ts";
import { aDecision } from "./decisions.ts";
import { NOW, secondsAgo } from "./pods.ts";

/** A pod that no node was found for. */
const LATE = {
  metadata: {
    namespace: "default",
    name: "late",
    uid: "uid-late",
    creationTimestamp: secondsAgo(90),
  },
  spec: { containers: [{ name: "web", resources: { requests: { cpu: "9" } } }] },
  status: {
    phase: "Pending",
    conditions: [
      {
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message: "0/1 nodes are available: 1 Insufficient cpu.",
        lastTransitionTime: secondsAgo(80),
      },
    ],
  },
} satisfies Pod;
const noDecisions = (name: string) => ({
  [`/nodelet/v1/decisions?pod=default%2F${name}&limit=500`]: { items: [], lost: 0 },
});
const life = <K extends DecisionKind>(minutesAgo: number, kind: K, inputs: DecisionInputs[K]) => ({
  ...aDecision(kind, "", inputs),
  subject: { kind: "node", name: "edge-1" },
  atMs: NOW - minutesAgo * 60_000,
});
const LIVES = [
  life(95, "startAgent", { version: "0.1.0" }),
  life(90, "startAgent", { version: "0.1.0" }),
  life(61, "agentExited", { result: "watchdog", code: "killed", status: "ABRT" }),
  life(60, "startAgent", { version: "0.1.0" }),
  life(40, "stopAgent", { reason: "received SIGTERM" }),
  life(39, "stopNode", { pods: 3, left: [] }),
  life(20, "startAgent", { version: "0.1.0" }),
];

/** Answers by path; the pods `web-edge-1` and `old-edge-1`, which is gone, have this decision. */
export function answersOfWhy(decision: object): Readonly<Record<string, unknown>> {
  return {
    "/nodelet/v1/decisions?pod=default%2Fweb-edge-1&limit=500": { items: [decision], lost: 0 },
    "/nodelet/v1/decisions?pod=default%2Fweb-edge-1&limit=20": { items: [decision], lost: 0 },
    "/nodelet/v1/decisions?pod=default%2Fnone&limit=500": { items: [], lost: 0 },
    "/nodelet/v1/decisions?pod=default%2Fnone-edge-1&limit=500": { items: [], lost: 0 },
    "/nodelet/v1/decisions?pod=default%2Fold&limit=500": { items: [], lost: 0 },
    "/nodelet/v1/decisions?pod=default%2Fold-edge-1&limit=500": { items: [decision], lost: 0 },
    "/nodelet/v1/events?for=pod%2Fdefault%2Fold-edge-1": { kind: "EventList", items: [] },
    "/nodelet/v1/api-pods/default/none": { kind: "notFound" },
    "/nodelet/v1/api-pods/default/old": { kind: "noApi" },
    "/nodelet/v1/api-pods/default/late": { kind: "found", pod: LATE },
    "/nodelet/v1/api-pods/default/secret": {
      kind: "refused",
      message: 'pods "secret" is forbidden: no relationship found between node and this object',
    },
    ...noDecisions("late"),
    ...noDecisions("late-edge-1"),
    ...noDecisions("secret"),
    ...noDecisions("secret-edge-1"),
    "/nodelet/v1/events?for=pod%2Fdefault%2Flate": { kind: "EventList", items: [] },
    "/nodelet/v1/state-files": { items: [] },
    "/nodelet/v1/decisions?name=edge-1&limit=500": { items: LIVES, lost: 0 },
  };
}
