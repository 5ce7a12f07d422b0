// Guards of CPUs that containers have alone.
import { type Guard, testGuards } from "./bite.ts";

const MODULE = "src/subsystems/cpus/cpus.ts";
const GUARDS: readonly Guard[] = [
  {
    name: "a CPU that was given is not in the shared pool",
    file: "src/subsystems/cpus/cpu-state.ts",
    line: "state.shared.filter((cpu) => !gone.has(cpu))",
    without: "state.shared",
  },
  {
    name: "a grant is on disk before its pod starts",
    file: MODULE,
    line: "await this.#store.saved();",
    without: "",
  },
  {
    name: "CPUs of a pod that has ended are shared again",
    file: MODULE,
    line: `if (ended) this.#release(uid, pod, "the pod has ended");`,
    without: "if (ended) return;",
  },
  {
    name: "containers that run are moved to the CPUs that they may use",
    file: "src/subsystems/cpus/cpusets.ts",
    line: "const moves = pods.values().flatMap((fact) => this.#movesOf(fact));",
    without: "const moves = [];",
  },
  {
    name: "a container that was made with other CPUs is moved when it is seen",
    file: "src/subsystems/cpus/cpusets.ts",
    line: "if (this.#movesOf(fact).length > 0) void this.apply();",
    without: "",
  },
  {
    name: "a pod that runs and whose entry was lost has CPUs of its own again",
    file: MODULE,
    line: "this.#grantRunning(pod);",
    without: "return;",
  },
  {
    name: "CPUs that went while no agent ran stop the start",
    file: MODULE,
    line: "if (misfit !== undefined) throw this.#store.unusable(misfit);",
    without: "",
  },
  {
    name: "a state that was cut short does not stop the start",
    file: "src/subsystems/cpus/cpu-store.ts",
    line: `return value.kind === "broken" ? value : { kind: "read", value };`,
    without: `return { kind: "read", value: { ...value, kind: value.kind === "broken" ? "refused" : value.kind } };`,
  },
];

testGuards(GUARDS.map((guard) => ({ ...guard, play: "play-cpus.ts" })));
