/** Seeds that once failed, and what each of them taught; played with every run. */
export const LEARNED: readonly (readonly [seed: number, lesson: string])[] = [
  [2, "a pod keeps showing the address it had"],
  [6, "folders of pods that vanished while the agent was away are removed"],
  [8, "an agent that waits for the runtime can be asked to leave"],
  [11, "sidecars do not keep a finished pod alive"],
  [41, "a listing that failed half-way has reported nothing"],
  [570, "a pod that ran is not refused for what no source names any more"],
  [619, "two observations of one pod may overtake each other"],
  [1191, "a slow observation must not override a faster one"],
  [1254, "a container that was never started does not stand in the way of a new sandbox"],
];
