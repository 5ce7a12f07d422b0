import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../kit/clock.ts";
import {
  decideReadiness,
  type ReadinessFacts,
  readinessWarnings,
  runtimeCause,
} from "./readiness.ts";

const NOW = 1_000_000;
const ago = (ms: number) => (NOW - ms) as MonotonicMs;

const WELL: ReadinessFacts["runtime"] = {
  ready: true,
  problem: "",
  message: "",
  networkReady: true,
  networkProblem: "",
  networkMessage: "",
};

const REFUSED = "OutsideError: connect ECONNREFUSED /run/containerd/containerd.sock";
const NOT_READY = "container runtime not ready: RuntimeReady=false reason:Broken message:disk";
const DOWN = "container runtime is down";
const NEVER = "container runtime status check may not have completed yet";

type Row = readonly [
  what: string,
  facts: Partial<ReadinessFacts>,
  /** Kind, text for the API, cause for people. */
  problems: readonly (readonly [string, string, string])[],
  runtime: string | undefined,
];

const ROWS: readonly Row[] = [
  ["all is well", {}, [], undefined],
  [
    "the runtime is silent for 29 s",
    { lastAnswer: ago(29_000), lastReady: ago(29_000) },
    [],
    undefined,
  ],
  [
    "the runtime is silent for 41 s, as one that is stopped",
    { lastAnswer: ago(41_900), lastReady: ago(41_900) },
    [["runtime", DOWN, "container runtime has not answered for 41 s"]],
    "container runtime has not answered for 41 s",
  ],
  [
    "the runtime is silent so long that pods have not been listed either",
    { lastAnswer: ago(900_000), lastReady: ago(900_000), listedAt: ago(901_000) },
    [
      ["runtime", DOWN, "container runtime has not answered for 15 min"],
      [
        "runtime",
        "PLEG is not healthy: pleg was last seen active 901s ago; threshold is 3m0s",
        "container runtime has not answered for 15 min",
      ],
    ],
    "container runtime has not answered for 15 min",
  ],
  [
    "the runtime's status is well and its pods cannot be listed",
    { listedAt: ago(200_000) },
    [
      [
        "runtime",
        "PLEG is not healthy: pleg was last seen active 200s ago; threshold is 3m0s",
        "container runtime has not listed its pods for 200 s",
      ],
    ],
    "container runtime has not listed its pods for 200 s",
  ],
  [
    "the runtime's socket refuses since a moment ago: known, and not yet what makes the node not ready",
    {
      runtime: { ...WELL, ready: false, message: REFUSED },
      lastAnswer: ago(3_000),
      lastReady: ago(3_000),
    },
    [],
    REFUSED,
  ],
  [
    "it refuses for long",
    {
      runtime: { ...WELL, ready: false, message: REFUSED },
      lastAnswer: ago(60_000),
      lastReady: ago(60_000),
    },
    [["runtime", DOWN, "container runtime has not answered for 60 s"]],
    "container runtime has not answered for 60 s",
  ],
  [
    "it answers that it is not ready",
    {
      runtime: { ...WELL, ready: false, problem: NOT_READY, message: "Broken: disk" },
      lastReady: ago(60_000),
    },
    [
      ["runtime", DOWN, "Broken: disk"],
      ["runtime", NOT_READY, "Broken: disk"],
    ],
    "Broken: disk",
  ],
  [
    "it has never answered",
    {
      runtime: { ...WELL, ready: false, message: NEVER },
      lastAnswer: undefined,
      lastReady: undefined,
      listedAt: undefined,
    },
    [["runtime", NEVER, NEVER]],
    NEVER,
  ],
  [
    "no network, the machine goes down, and the agent is ill: the runtime first",
    {
      runtime: {
        ...WELL,
        networkReady: false,
        networkProblem: "network not ready",
        networkMessage: "no CNI",
      },
      lastAnswer: ago(31_000),
      lastReady: ago(31_000),
      shuttingDown: true,
      health: [
        { name: "volumes", problem: "do not answer", notReadyAt: ago(0) },
        { name: "logs", problem: "are late", notReadyAt: (NOW + 1) as MonotonicMs },
        { name: "lease", problem: "is old", notReadyAt: undefined },
      ] as unknown as ReadinessFacts["health"],
    },
    [
      ["runtime", DOWN, "container runtime has not answered for 31 s"],
      ["network", "network not ready", "no CNI"],
      ["shutdown", "node is shutting down", "node is shutting down"],
      ["agent", "volumes: do not answer", "volumes: do not answer"],
    ],
    "container runtime has not answered for 31 s",
  ],
];

for (const [what, changed, problems, runtime] of ROWS)
  test(`decideReadiness: ${what}`, () => {
    const facts: ReadinessFacts = {
      now: NOW as MonotonicMs,
      runtime: WELL,
      lastReady: ago(1_000),
      lastAnswer: ago(1_000),
      listedAt: ago(1_000),
      health: [],
      shuttingDown: false,
      ...changed,
    };
    const decided = decideReadiness(facts).map(({ kind, message, cause }) => [
      kind,
      message,
      cause,
    ]);
    assert.deepEqual(decided, problems);
    assert.equal(runtimeCause(facts), runtime);
  });

test("readinessWarnings: problems of the agent with which it still manages pods", () => {
  const health = [
    { name: "volumes", problem: "do not answer", notReadyAt: ago(0) },
    { name: "logs", problem: "are late", notReadyAt: (NOW + 1) as MonotonicMs },
    { name: "lease", problem: "is old" },
  ] as unknown as ReadinessFacts["health"];
  const warnings = readinessWarnings({ now: NOW as MonotonicMs, health });
  assert.deepEqual(warnings, ["logs: are late", "lease: is old"]);
});
