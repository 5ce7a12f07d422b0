/**
 * Set-up of a single executable (nodejs.org/api/single-executable-applications.html): there is no
 * launcher that sets the environment, and no second program beside it for file workers.
 */
import { createRequire } from "node:module";
import { getAsset } from "node:sea";
import { compileFunction } from "node:vm";
import { AGENT_MALLOC } from "../outside/memory/memory.ts";

/** The first argument by which an agent starts its file workers (outside/host/worker/worker-process.ts). */
const FILE_WORKER_COMMAND = "__file-worker";

/** The program of file workers, as the executable holds it. */
const FILE_WORKER = "dist/file-worker.cjs";

/** Runs the file worker's program when the arguments ask for it; returns whether they did. */
export function becomeFileWorker(argv: readonly string[]): boolean {
  if (argv[0] !== FILE_WORKER_COMMAND) return false;
  const parameters = ["require", "__filename", "__dirname"];
  const program = compileFunction(getAsset(FILE_WORKER, "utf8"), parameters, {
    filename: FILE_WORKER,
  });
  program(createRequire(process.execPath), process.execPath, "/");
  return true;
}

/**
 * Starts this process once more in its own place when it is to be an agent and the environment does not set how the C library
 * keeps memory, which it reads only at the start.
 */
export function withAgentMemory(argv: readonly string[]): void {
  if (argv[0] !== "run" || process.env["MALLOC_ARENA_MAX"] !== undefined) return;
  process.execve?.(process.execPath, [process.execPath, ...argv], {
    ...process.env,
    ...AGENT_MALLOC,
  });
}
