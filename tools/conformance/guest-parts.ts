/** A group in guests, in parts, of which two run at once where there are two CPUs. A part without result is run again. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type GuestMachine, runInGuest } from "../guest/uml/run-in-guest.ts";
import { partFolder, RESULT } from "./last-run.ts";
import type { KeptResult } from "./results/result.ts";

const SCRIPT = "tools/conformance/conformance.ts";
/** Specs of a part: about half an hour. */
const PART = 96;
/** More guests slow each other down until specs exceed their limits of time. */
const MOST_AT_ONCE = 2;
const TRIES = 3;

interface GuestParts {
  readonly names: readonly string[];
  /** Words of the command line beside those that name specs and folders. */
  readonly words: readonly string[];
  /** Each part has its reports and logs in a folder of its own there; it must be in the cache. */
  readonly folder: string;
  readonly machine: GuestMachine;
  /** Receives the result of each part that has one. */
  readonly onResult: (result: KeptResult) => void;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Deals the names out to parts of about that size, so that each has some of every family; a container's specs stay together. */
export function partsOf(names: readonly string[], size = PART): string[][] {
  const count = Math.ceil(names.length / size);
  const parts = Array.from({ length: count }, (): string[] => []);
  const containers = Map.groupBy([...names].sort(), containerOf);
  for (const [index, specs] of [...containers.values()].entries()) {
    // Of those with the fewest, another one each time.
    const fewest = Math.min(...parts.map(({ length }) => length));
    const smallest = parts.filter(({ length }) => length === fewest);
    smallest[index % smallest.length]?.push(...specs);
  }
  return parts;
}

/** What is said of the specs of a container in common; specs of ordered containers need those before them. */
function containerOf(name: string): string {
  const [described = ""] = name.split(" should ");
  return described.split(" when ").slice(0, 2).join(" when ");
}

/** Runs them; resolves with the number of parts without a result. */
export async function runInParts(run: GuestParts): Promise<number> {
  const waiting = partsOf(run.names).map((names, index) => ({ names, index, tries: 1 }));
  const count = waiting.length;
  let without = 0;
  const worker = async () => {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      const label = `part ${part.index + 1} of ${count}`;
      const result = await runPart(part, label, run);
      if (result !== undefined) run.onResult(result);
      else if (part.tries < TRIES) waiting.push({ ...part, tries: part.tries + 1 });
      else without++;
      run.say(`${label}: ${result === undefined ? `no result, try ${part.tries}` : "done"}`);
    }
  };
  const atOnce = Math.min(MOST_AT_ONCE, availableParallelism());
  await Promise.all(Array.from({ length: atOnce }, worker));
  return without;
}

async function runPart(
  { names, index }: { readonly names: readonly string[]; readonly index: number },
  label: string,
  { words, folder: parent, machine, say, signal }: GuestParts,
): Promise<KeptResult | undefined> {
  signal.throwIfAborted();
  const folder = partFolder(parent, index + 1);
  const list = join(parent, `list-${index + 1}`);
  mkdirSync(parent, { recursive: true });
  writeFileSync(list, `${names.join("\n")}\n`);
  const code = await runInGuest([SCRIPT, ...words, `--list=${list}`, `--results=${folder}`], {
    ...machine,
    onLine: (line) => console.error(`${label}: ${line}`),
    say,
    signal,
  });
  const file = join(folder, RESULT);
  // A run that had to be given up leaves none: its folder is emptied first.
  if (code > 1 || !existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, "utf8"));
}
