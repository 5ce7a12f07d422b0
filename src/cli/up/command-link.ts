/** `nodelet` on the PATH: a link to this program, made by `up` where there is none. */
import { lstatSync, readlinkSync, realpathSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { programPath } from "../../process/package-root.ts";
import { findProgram, isExecutable } from "../../process/programs.ts";
import type { HostLedger, OpenLedger } from "./ledger.ts";

const NAME = "nodelet";
/** Folder for programs that no package manages; in the PATH of every usual shell, and in sudo's. */
const FOLDER = "/usr/local/bin";

/** The word that starts this program when it is typed: its name, or its path where the PATH does not have it. */
export function commandWord(): string {
  const found = findProgram(NAME);
  return found !== undefined && isSame(found, programPath()) ? NAME : programPath();
}

/**
 * Links the program into the PATH unless it is there already. A file of another program stays, and so does a link
 * that leads elsewhere. Says what was done.
 */
export function linkCommand(ledger: OpenLedger, print: (text: string) => void): void {
  const program = programPath();
  const link = join(FOLDER, NAME);
  if (!isExecutable(program)) return;
  const found = findProgram(NAME);
  if (found !== undefined) {
    if (!isSame(found, program))
      print(`${found} is another program and was kept; this one is ${program}`);
    return;
  }
  if (!isOurs(ledger.now, link)) return;
  ledger.change(({ links }) => ({ links: { ...links, [link]: program } }));
  try {
    if (linkTarget(link) !== undefined) unlinkSync(link);
    symlinkSync(program, link);
    print(`linked ${link} to ${program}`);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    print(`${link} cannot be created (${code}); the program is ${program}`);
  }
}

/** Whether the place is free, or has a link that an earlier `up` made and that leads nowhere now. */
function isOurs({ links }: Pick<HostLedger, "links">, link: string): boolean {
  try {
    lstatSync(link);
  } catch {
    return true;
  }
  return links[link] !== undefined && linkTarget(link) === links[link];
}

/** Target of a symbolic link; undefined for other files. */
export function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function isSame(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
