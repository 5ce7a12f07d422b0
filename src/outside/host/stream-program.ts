import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { isOutside, OutsideError } from "../../kit/errors.ts";

/** A program whose output is passed on while it runs. */
interface StreamedProgram {
  /** A name is searched on the PATH. */
  readonly path: string;
  /** One element for each argument; no shell reads them. */
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Of standard output and error together. */
  readonly maxOutputBytes: number;
}

/** How a streamed program ended. Limits end it by force. */
export type StreamedEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "missing" }
  | { readonly kind: "tooLong" }
  | { readonly kind: "deadline" };

/**
 * Runs a program and hands its output, standard error included, to `write`, which may hold it up. An aborted signal
 * or a `write` that throws ends the program by force and rejects with that reason.
 */
export type StreamProgram = (
  program: StreamedProgram,
  write: (chunk: Uint8Array) => Promise<void>,
  signal: AbortSignal,
) => Promise<StreamedEnd>;

/** Programs of this machine. */
export const streamProgram: StreamProgram = async (program, write, signal) => {
  signal.throwIfAborted();
  const child = spawn(program.path, program.args, { stdio: ["ignore", "pipe", "pipe"] });
  const exit = exitOf(child);
  let timedOut = false;
  const kill = () => void child.kill("SIGKILL");
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, program.timeoutMs);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const budget = { left: program.maxOutputBytes };
    const pumps = [child.stdout, child.stderr].map((stream) => pump(stream, budget, write));
    await Promise.all(pumps);
    const code = await exit;
    signal.throwIfAborted();
    if (timedOut) return { kind: "deadline" };
    return code === "missing" ? { kind: "missing" } : { kind: "exited", code };
  } catch (error) {
    signal.throwIfAborted();
    if (isOutside(error, "exhausted")) return { kind: "tooLong" };
    throw error;
  } finally {
    kill();
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
  }
};

/** Passes on what a stream holds, up to what is left for both streams of the program. */
async function pump(
  stream: Readable,
  budget: { left: number },
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const taken = chunk.subarray(0, budget.left);
    budget.left -= taken.length;
    if (taken.length > 0) await write(taken);
    if (taken.length < chunk.length) throw new OutsideError("exhausted", "output is too long");
  }
}

function exitOf(child: ChildProcess): Promise<number | "missing"> {
  return new Promise((resolve) => {
    child.once("error", () => resolve("missing"));
    child.once("close", (code) => resolve(code ?? -1));
  });
}
