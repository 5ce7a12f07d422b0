import { readFileSync, readlinkSync } from "node:fs";
import { loadCFunctions } from "../c-library.ts";

/** Addresses of a part of the program's file in memory. */
interface ProgramMapping {
  readonly start: bigint;
  /** The first address behind it. */
  readonly end: bigint;
}

/** madvise(2): the pages leave the process and come back from their file when they are used. */
const MADV_DONTNEED = 4;
const MADVISE = { madvise: { arguments: ["u64", "u64", "i32"], return: "i32" } } as const;
/** A line that begins a mapping: addresses, permissions, offset, device, inode, path. */
const HEADER = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ \S+ \d+ *(.*)$/;
/** Neither may be written, so that what is in memory is what is in the file. */
const READ_ONLY: ReadonlySet<string> = new Set(["r--p", "r-xp"]);
/** What the kernel appends to the path of a file that was removed, which it keeps until its last user ends. */
const DELETED = / \(deleted\)$/;

/**
 * Mappings of the file `program` that can be read from it again at any time: they cannot be written and hold no page of
 * their own. What the dynamic linker has changed before it made it read-only (RELRO) has such pages and is left out.
 * `smaps` is the text of /proc/self/smaps.
 */
export function programMappings(smaps: string, program: string): readonly ProgramMapping[] {
  const path = program.replace(DELETED, "");
  const found: ProgramMapping[] = [];
  let current: ProgramMapping | undefined;
  for (const line of smaps.split("\n")) {
    const header = HEADER.exec(line);
    if (header) {
      const [, start, end, permissions = "", file = ""] = header;
      const isCandidate = READ_ONLY.has(permissions) && file.replace(DELETED, "") === path;
      current = isCandidate ? { start: BigInt(`0x${start}`), end: BigInt(`0x${end}`) } : undefined;
    } else if (current && line.startsWith("Anonymous:")) {
      if (/^Anonymous:\s+0 kB$/.test(line)) found.push(current);
      current = undefined;
    }
  }
  return found;
}

/**
 * Gives back the resident pages of the program that runs (Node's, some 50 MiB of which the start touches once), and only
 * those that the kernel reads from the program's file again when they are used, at the cost of a minor fault for each 16 pages.
 * The first call loads what it needs. `false` where Node cannot call the C library, which it can since version 26.
 */
export function createProgramPageRelease(): () => boolean {
  let release: (() => void) | false | undefined;
  return () => {
    release ??= prepareRelease();
    if (release) release();
    return release !== false;
  };
}

function prepareRelease(): (() => void) | false {
  const functions = loadCFunctions(MADVISE);
  if (!functions) return false;
  const { madvise } = functions;
  const program = readlinkSync("/proc/self/exe");
  // They do not change as long as the program runs.
  const mappings = programMappings(readFileSync("/proc/self/smaps", "utf8"), program);
  return () => {
    for (const { start, end } of mappings) madvise(start, end - start, MADV_DONTNEED);
  };
}
