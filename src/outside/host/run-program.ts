import { spawn } from "node:child_process";
import { OutsideError } from "../../kit/errors.ts";
import type { Program, ProgramResult } from "../program.ts";

/**
 * Runs a program to its end. What it writes beyond the limit, and running beyond the deadline, ends it by
 * force. Throws `OutsideError`: "notFound" when there is no such program, "deadline", "exhausted".
 */
export function runProgram(program: Program, signal: AbortSignal): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const { path, args, env, input, timeoutMs, maxOutputBytes } = program;
    const child = spawn(path, args, {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      signal,
      killSignal: "SIGKILL",
    });
    let failure: OutsideError | undefined;
    const end = (error: OutsideError) => {
      failure ??= error;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(
      () => end(new OutsideError("deadline", `${path} did not end within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const chunks: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
    let bytes = 0;
    for (const name of ["stdout", "stderr"] as const) {
      child[name].on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxOutputBytes)
          end(new OutsideError("exhausted", `${path} wrote more than ${maxOutputBytes} bytes`));
        else chunks[name].push(chunk);
      });
    }
    child.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (signal.aborted) reject(signal.reason as Error);
      else {
        const code = error.code === "ENOENT" ? "notFound" : "io";
        reject(new OutsideError(code, `${path}: ${error.message}`, { cause: error }));
      }
    });
    child.once("close", (code, by) => {
      clearTimeout(timer);
      if (failure) return reject(failure);
      const text = (name: "stdout" | "stderr") => Buffer.concat(chunks[name]).toString("utf8");
      resolve({ code: code ?? -1, by: by ?? "", stdout: text("stdout"), stderr: text("stderr") });
    });
    // A program that does not read its input is no fault of ours.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
