/** The command in a guest with cgroup v2. */
import { checkoutScript } from "../guest/uml/checkout-script.ts";
import { machineObstacle, runInMachine } from "../guest/uml/machine.mjs";
import { guestArguments } from "./options.ts";

/** A whole group takes hours. */
const TIMEOUT_MS = 10 * 3_600_000;
const MEMORY_MIB = 8_192;
/** With two CPUs, memory that etcd maps from its file is not always what etcd has written there: bbolt panics. */
const CPUS = 1;

/** Why there is no guest here. */
export const guestObstacle = machineObstacle;

/** Runs the command with these words in a guest; gives its exit code. What it needs must have been built before. */
export async function runInGuest(
  argv: readonly string[],
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<number> {
  const { words, folders: named } = guestArguments(argv);
  const { command, folders } = checkoutScript(["tools/conformance/conformance.ts", ...words]);
  const onLine = (line: string) => console.error(line);
  const { code } = await runInMachine(command, {
    timeoutMs: TIMEOUT_MS,
    memoryMib: MEMORY_MIB,
    cpus: CPUS,
    folders: [...folders, ...named],
    onLine,
    say,
    signal,
  });
  signal.throwIfAborted();
  return code ?? 2;
}
