/** Settings of V8 that an agent makes when its program is loaded. */
import { setFlagsFromString } from "node:v8";

/**
 * Memory before speed in the first ten seconds of an agent (`--optimize-for-size`, until `OwnProcess.letGarbageGather`). A
 * full collection begins when the heap has grown by 60 % since the last one; V8 by itself lets it double and more while
 * pods come and go. It marks in one go: in steps between other work (V8's incremental marking) it takes four times as long,
 * and as young objects are not collected for these one to three seconds, the heap grows by 20 MiB. V8's memory reducer,
 * which marks in steps only, does not run either; an agent at rest gives memory back by itself (`RestRelease`).
 * Sparkplug compiles functions after a few calls, as in V8 by itself. Most run too seldom for the cost of an optimizing
 * compiler to pay off: Maglev compiles those that were called 800 times (V8: 400), Turbofan none.
 * On the command line these flags would make V8 refuse the compiled code that Node brings for its own modules, and
 * compile all of them at the start.
 */
const AGENT_V8_FLAGS = [
  "--optimize-for-size",
  "--heap-growing-percent=60",
  "--no-incremental-marking",
  "--invocation-count-for-maglev=800",
  "--no-turbofan",
];

/** Sets the flags of V8 that an agent runs with. */
export function setAgentV8Flags(): void {
  for (const flag of AGENT_V8_FLAGS) setFlagsFromString(flag);
}
