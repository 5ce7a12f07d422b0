// Guards of pods, statuses and listings; those of eviction have a file of their own, which runs beside this one.
import { type Guard, testGuards } from "./bite.ts";

const GUARDS: readonly Guard[] = [
  {
    name: "life advances on a fresh observation only",
    file: "src/pipeline/pods/record/transition.ts",
    line: `if (record.sync.freshness !== "fresh") return record;`,
    without: "",
  },
  {
    name: "a pod is planned on a fresh observation only",
    file: "src/pipeline/pods/actor.ts",
    line: `this.#record.sync.freshness !== "fresh"`,
    without: "false",
  },
  {
    name: "what other modules know of a pod follows every record",
    file: "src/pipeline/pods/actor.ts",
    line: "this.#deps.onRecord(record);",
    without: "",
  },
  {
    name: "only an observation after the last action is fresh",
    file: "src/pipeline/pods/record/transition.ts",
    line: "observed.asOf >= sync.actedAt",
    without: "true",
    // An observation has to be overtaken by an action: history 891 is the first.
    first: 885,
  },
  {
    name: "what probes found out holds over a restart",
    file: "src/pipeline/pods/record/transition.ts",
    line: "probes: from.probes ?? {},",
    without: "probes: {},",
  },
  {
    name: "what has yet to start has failed no startup probe",
    file: "src/subsystems/probes/verdict.ts",
    line: `return rules.kind === "readiness"`,
    without: `return rules.kind !== undefined`,
    // Only a listing between the starts of a pod's containers shows it: about one history in fifty.
    first: 70,
  },
  {
    name: "a damaged state file does not stop the start",
    file: "src/kit/state/state-files.ts",
    line: "why = messageOf(error);",
    without: "throw error;",
  },
  {
    name: "nothing is an orphan before every source was seen",
    file: "src/pipeline/pods/pods.ts",
    line: "if (this.#sourcesSeen && !held?.desired && !this.#isSpared(found))",
    without: "if (!held?.desired)",
  },
  {
    name: "a source that has not answered has not been seen",
    file: "src/pipeline/sources/sources.ts",
    line: "if (pods) this.#answers.set(kind, pods);",
    without: "this.#answers.set(kind, pods ?? []);",
    play: "play-url.ts",
  },
  {
    name: "one object that fails for ever is its own pod's matter",
    file: "src/subsystems/runtime/observe.ts",
    line: `return { kind: "failed", uid, asOf, describe, problem: messageOf(error) };`,
    without: "throw error;",
    play: "play-isolation.ts",
  },
  {
    name: "one object that hangs for ever is waited for so long and no longer",
    file: "src/subsystems/runtime/observe.ts",
    line: "return await within(limit, signal, ask);",
    without: "return await ask(signal);",
    play: "play-isolation.ts",
  },
  {
    name: "nothing is started for a pod that was found and cannot be read",
    file: "src/pipeline/pods/pods.ts",
    line: "if (this.#unobserved.has(change.uid)) {",
    without: "if (false) {",
    play: "play-isolation.ts",
    first: 14,
  },
  {
    name: "the full listing is due a period after the last one",
    file: "src/subsystems/runtime/watch-runtime.ts",
    line: "const began = this.#lastListing.get();",
    without: "const began = this.#deps.clock.monotonic();",
    play: "play-traffic.ts",
  },
  {
    name: "what is stopped to be started again is not shown as terminated",
    file: "src/pipeline/status/container-status.ts",
    line: "if (!latest.replaced) return undefined;",
    without: "return undefined;",
    play: "play-cluster.ts",
  },
  {
    name: "no status is written that the API refuses",
    file: "src/pipeline/cluster/writable-status.ts",
    line: "if (refused.length === 0)",
    without: "if (refused.length >= 0)",
    play: "play-cluster.ts",
    // A container has to be shown running again after its end: history 162 is the first.
    first: 154,
  },
];

testGuards(GUARDS);
