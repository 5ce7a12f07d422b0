// Vectors of standingsOf: each kind of container in each state under each policy.
import { aContainer, anAttempt, anEnd, aPod } from "../../../../test/support/pods.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import type { ContainerKind, RestartPolicy } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";

type State =
  | "nothing"
  | "created"
  | "running"
  | "exited 0"
  | "exited 1"
  | "OOM-killed, 0"
  | "stopped to restart"
  | "unknown"
  | "of a round that is over";

/** What the runtime has of the container `c` in each state. */
export const ATTEMPTS: Readonly<Record<State, readonly ObservedContainer[]>> = {
  nothing: [],
  created: [anAttempt("c", { state: "created" })],
  running: [anAttempt("c")],
  "exited 0": [anEnd("c", 0)],
  "exited 1": [anEnd("c", 1)],
  "OOM-killed, 0": [anEnd("c", 0, { reason: "OOMKilled" })],
  "stopped to restart": [anEnd("c", 0, { replaced: true })],
  unknown: [anAttempt("c", { state: "unknown" })],
  "of a round that is over": [anEnd("c", 1, { outdated: true })],
};

/** The pod whose container `c` is of the kind. */
export function podWith(kind: ContainerKind, restartPolicy: RestartPolicy): IdentifiedPod {
  const container = aContainer("c");
  switch (kind) {
    case "regular":
      return aPod({ restartPolicy, containers: [container] });
    case "init":
      return aPod({ restartPolicy, initContainers: [container] });
    case "sidecar":
      return aPod({ restartPolicy, initContainers: [{ ...container, restartPolicy: "Always" }] });
    case "ephemeral":
      return aPod({ restartPolicy, ephemeralContainers: [container] });
    default:
      return kind satisfies never;
  }
}

/** Whether it restarts (`-`: it has not ended) under Always, OnFailure and Never; then `s` started, `r` ready. */
type Row = readonly [
  state: State,
  byKind: Readonly<Record<ContainerKind, readonly [restart: string, flags: string]>>,
];

const OPEN: Row[1] = {
  init: ["---", ""],
  sidecar: ["---", ""],
  regular: ["---", ""],
  ephemeral: ["---", ""],
};

/** The expected standing in each state. */
export const ROWS: readonly Row[] = [
  ["nothing", OPEN],
  ["created", OPEN],
  ["unknown", OPEN],
  ["of a round that is over", OPEN],
  [
    "running",
    {
      init: ["---", "s"],
      sidecar: ["---", "sr"],
      regular: ["---", "sr"],
      ephemeral: ["---", "sr"],
    },
  ],
  [
    "exited 0",
    {
      init: ["nnn", "r"],
      sidecar: ["yyy", ""],
      regular: ["ynn", ""],
      ephemeral: ["nnn", ""],
    },
  ],
  [
    "exited 1",
    {
      init: ["yyn", ""],
      sidecar: ["yyy", ""],
      regular: ["yyn", ""],
      ephemeral: ["nnn", ""],
    },
  ],
  [
    "OOM-killed, 0",
    {
      init: ["yyn", ""],
      sidecar: ["yyy", ""],
      regular: ["ynn", ""],
      ephemeral: ["nnn", ""],
    },
  ],
  [
    "stopped to restart",
    {
      init: ["yyy", "r"],
      sidecar: ["yyy", ""],
      regular: ["yyy", ""],
      ephemeral: ["yyy", ""],
    },
  ],
];
