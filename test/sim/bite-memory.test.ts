// Guards of memory of NUMA nodes.
import { type Guard, testGuards } from "./bite.ts";

const MODULE = "src/subsystems/numa-memory/numa-memory.ts";
const GUARDS: readonly Guard[] = [
  {
    name: "memory of a pod that has ended is free",
    file: MODULE,
    line: "this.#replace(releasePod(this.#state, uid));",
    without: "",
    play: "play-memory.ts",
  },
  {
    name: "memory of init containers that are done is free",
    file: MODULE,
    line: "if (own.length > 0)",
    without: "if (own.length > 99)",
    play: "play-memory.ts",
  },
  {
    name: "a group of nodes serves only that group",
    file: "src/subsystems/numa-memory/memory-hints.ts",
    line: "if (breaksGroups(nodes, ids)) continue;",
    without: "",
    play: "play-memory.ts",
  },
  {
    name: "a pod is placed again with what there is after others were waited for",
    file: "src/pipeline/admission/topology/topology.ts",
    line: "const placing = this.#place(pod, { isFirst: i === 0 });",
    without:
      "const placing = (globalThis[pod.metadata.uid] ??= this.#place(pod, { isFirst: true }));",
    play: "play-memory.ts",
    first: 75,
  },
];

testGuards(GUARDS);
