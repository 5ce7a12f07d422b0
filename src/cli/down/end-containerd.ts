import type { ProcessMark } from "../up/ledger.ts";
import { endProcess, isRunning } from "../up/processes.ts";

/** How long containerd may take to end before it is killed, and after that. */
const END_MS = 15_000;

/** Ends the containerd that `up` started; resolves with whether it is gone. */
export async function endContainerd(mark: ProcessMark): Promise<boolean> {
  return !isRunning(mark) || (await endProcess(mark, END_MS));
}
