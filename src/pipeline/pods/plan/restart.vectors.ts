// Vectors of planPod: what ended, when it starts again, and when it does not.
import { aContainer, anEnd, aPod, at, wall } from "../../../../test/support/pods.ts";
import type { Row } from "./plan.vectors.ts";

const PREP = aContainer("prep");
const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });

/** All vectors about restarts. */
export const RESTART_ROWS: readonly Row[] = [
  {
    name: "an init container of which a process was OOM-killed has failed, whatever its exit code",
    given: {
      pod: aPod({ initContainers: [PREP] }),
      containers: [anEnd("prep", 0, { reason: "OOMKilled" })],
    },
    expect: ["start prep#1"],
  },
  {
    name: "so has one under OnFailure",
    given: {
      pod: aPod({ initContainers: [PREP], restartPolicy: "OnFailure" }),
      containers: [anEnd("prep", 0, { reason: "OOMKilled" })],
    },
    expect: ["start prep#1"],
  },
  {
    name: "under Never nothing follows it",
    given: {
      pod: aPod({ initContainers: [PREP], restartPolicy: "Never" }),
      containers: [anEnd("prep", 0, { reason: "OOMKilled" })],
    },
    expect: [],
  },
  {
    name: "the first restart is immediate",
    given: { containers: [anEnd("a", 1)] },
    expect: ["start a#1"],
  },
  {
    name: "the second waits for ten seconds after the end",
    given: { containers: [anEnd("a", 1, { restartCount: 1 })] },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 10_000, lastUpdate: wall(-1000) } },
      },
    },
    context: { wallNow: wall(4000), now: at(50_000) },
    expect: [],
    waits: { a: "CrashLoopBackOff" },
    wakeAt: 56_000,
  },
  {
    name: "when the wait is over it starts",
    given: { containers: [anEnd("a", 1, { restartCount: 1 })] },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 10_000, lastUpdate: wall(-1000) } },
      },
    },
    context: { wallNow: wall(10_000) },
    expect: ["start a#2"],
  },
  {
    name: "one that ran for 30 s waits still, though the longest pause is 10 s",
    given: {
      containers: [anEnd("a", 1, { restartCount: 1, finishedAtMs: wall(30_000) })],
    },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 10_000, lastUpdate: wall(0) } },
      },
    },
    context: {
      restartBackoff: { initialMs: 10_000, maxMs: 10_000 },
      wallNow: wall(31_000),
    },
    expect: [],
    waits: { a: "CrashLoopBackOff" },
    wakeAt: 9_000,
  },
  {
    name: "one that ran for more than ten minutes starts at once",
    given: {
      containers: [anEnd("a", 1, { restartCount: 1, finishedAtMs: wall(600_001) })],
    },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 300_000, lastUpdate: wall(0) } },
      },
    },
    context: { wallNow: wall(600_002) },
    expect: ["start a#2"],
  },
  {
    name: "OnFailure starts again what was stopped for that, however it ended",
    given: { pod: onFailure, containers: [anEnd("a", 0, { replaced: true })] },
    expect: ["start a#1"],
  },
  {
    name: "Never starts again what was stopped for another image",
    given: { pod: never, containers: [anEnd("a", 143, { replaced: true })] },
    expect: ["start a#1"],
  },
  {
    name: "what was killed long after the crash before starts at once",
    given: {
      containers: [
        anEnd("a", 137, { restartCount: 1, finishedAtMs: wall(30_000), replaced: true }),
        anEnd("a", 1),
      ],
    },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 10_000, lastUpdate: wall(1) } },
      },
    },
    context: { wallNow: wall(30_001) },
    expect: ["removeContainer a-0", "start a#2"],
  },
  {
    name: "what was killed soon after the crash before waits from its own end",
    given: {
      containers: [
        anEnd("a", 137, { restartCount: 1, finishedAtMs: wall(30_000), replaced: true }),
        anEnd("a", 1),
      ],
    },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 40_000, lastUpdate: wall(1) } },
      },
    },
    context: { wallNow: wall(30_001) },
    expect: ["removeContainer a-0"],
    waits: { a: "CrashLoopBackOff" },
    wakeAt: 39_999,
  },
  {
    name: "and waits on when the one before has been removed",
    given: {
      containers: [anEnd("a", 137, { restartCount: 1, finishedAtMs: wall(0), replaced: true })],
    },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 40_000, lastUpdate: wall(-1) } },
      },
    },
    expect: [],
    waits: { a: "CrashLoopBackOff" },
    wakeAt: 40_000,
  },
  {
    name: "what ran and is gone from the runtime starts again",
    record: { tracked: { lost: { a: 137 } } },
    expect: ["start a#0"],
  },
  {
    name: "what did its work does not do it again because its record is gone",
    given: { pod: onFailure },
    record: { tracked: { lost: { a: 0 } } },
    expect: [],
  },
  {
    name: "Never does not run twice what is gone from the runtime",
    given: { pod: never },
    record: { tracked: { lost: { a: 137 } } },
    expect: [],
  },
  {
    name: "another image starts the back-off afresh",
    given: { containers: [anEnd("a", 1, { restartCount: 1 })] },
    record: {
      retries: {
        backoff: { a: { key: "uid-1|a|img:0|{}", delayMs: 300_000, lastUpdate: wall(-1000) } },
      },
    },
    expect: ["start a#2"],
  },
  {
    name: "Never leaves what ended",
    given: { pod: never, containers: [anEnd("a", 1)] },
    expect: [],
  },
  {
    name: "OnFailure leaves what ended well",
    given: { pod: onFailure, containers: [anEnd("a", 0)] },
    expect: [],
  },
  {
    name: "OnFailure restarts what failed",
    given: { pod: onFailure, containers: [anEnd("a", 2)] },
    expect: ["start a#1"],
  },
];
