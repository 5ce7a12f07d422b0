import { spawn } from "node:child_process";
import { OutsideError } from "../kit/errors.ts";
import { onAbort } from "../kit/on-abort.ts";

/** A program that holds something as long as the command runs that ends its arguments: a lock. */
interface HoldingProgram {
  readonly path: string;
  /** Without the command. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Action for messages, e.g. `take an inhibitor lock`. */
  readonly action: string;
  /** Package of the program, for messages. */
  readonly from: string;
}

/** Something that is held. */
interface HeldByProgram {
  /** Lets it go. Idempotent. */
  release(): void;
  /** Resolves when it is held no more, released or lost. */
  readonly gone: Promise<void>;
}

const HELD = "held\n";
const MAX_ERROR_CHARS = 1000;

/**
 * Runs the program with `cat` as its command and resolves when that runs: it gives back what it is sent. It ends with its
 * input, so that nothing is held for longer than this process lives. Throws `OutsideError`.
 */
export function holdWith(
  { path, args, env = {}, action, from }: HoldingProgram,
  signal: AbortSignal,
): Promise<HeldByProgram> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = spawn(path, [...args, "cat"], {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const gone = new Promise<void>((ended) => {
      child.once("close", () => ended());
    });
    const forget = onAbort(signal, () => {
      child.kill();
      reject(signal.reason as Error);
    });
    let reported = "";
    child.stderr.on("data", (chunk: Buffer) => {
      reported = (reported + chunk.toString("utf8")).slice(-MAX_ERROR_CHARS);
    });
    // A program that has ended reads no input.
    child.stdin.on("error", () => {});
    child.stdout.once("data", () => {
      forget();
      resolve({ release: () => void child.stdin.end(), gone });
    });
    child.once("error", (error: NodeJS.ErrnoException) => {
      forget();
      const code = error.code === "ENOENT" ? "notFound" : "io";
      const message = `${action}: ${error.message} (the program comes with ${from})`;
      reject(new OutsideError(code, message, { cause: error }));
    });
    child.once("close", (code, by) => {
      forget();
      const how = reported.trim() || `${path} ended with ${by ?? `code ${code}`}`;
      reject(new OutsideError("io", `${action}: ${how}`));
    });
    child.stdin.write(HELD);
  });
}
