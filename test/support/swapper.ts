// Exchanges two names in a folder as fast as the machine can (renameat2 with RENAME_EXCHANGE): neither is
// ever missing, which is what races over links need.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { findProgram } from "../box/prerequisites.ts";

const SYSCALL: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };

/** Why names cannot be exchanged here, for a skipped test; `false` when they can. */
export function swapObstacle(): string | false {
  if (SYSCALL[process.arch] === undefined) return `no number of renameat2 for ${process.arch}`;
  return findProgram("perl") === undefined && "needs perl (package perl-base)";
}

/** A program that exchanges until it gets SIGTERM. */
export interface Swapper {
  /** Ends it after at least 10,000 exchanges; gives how many there were. */
  stop(): Promise<number>;
}

/** Starts exchanging `a` and `b`; resolves when it goes on. */
export async function startSwapper(a: string, b: string): Promise<Swapper> {
  const script = `
    $SIG{TERM} = sub { $stop = 1 }; $| = 1; print "on\\n"; my $n = 0; my ($a, $b) = @ARGV;
    until ($stop && $n >= 10_000) { syscall(${SYSCALL[process.arch]}, -100, $a, -100, $b, 2) == 0 or die "$!"; $n++ }
    print "$n\\n";`;
  const child = spawn("perl", ["-e", script, a, b], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.value !== "on") throw new Error("names cannot be exchanged");
  return {
    stop: async () => {
      child.kill("SIGTERM");
      return Number((await lines.next()).value);
    },
  };
}
