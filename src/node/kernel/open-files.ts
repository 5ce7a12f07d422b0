import { isOutside, OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Host } from "../../outside/host/host.ts";

interface OpenFilesDeps {
  readonly host: Pick<Host, "readKernel" | "runProgram">;
  readonly log: Log;
}

const LIMITS = "/proc/self/limits";
const STAT = "/proc/self/stat";
const PROGRAM = "prlimit";
const TIMEOUT_MS = 5_000;
const MAX_OUTPUT_BYTES = 4096;

/**
 * Sets how many files the agent may have open (`maxOpenFiles`, RLIMIT_NOFILE), as the Go kubelet does (server.go
 * SetNumFiles): a process cannot do that itself in JavaScript, prlimit(1) does it for us. What may not be raised is warned of.
 */
export async function limitOpenFiles(
  maxOpenFiles: number,
  { host, log }: OpenFilesDeps,
  signal: AbortSignal,
): Promise<void> {
  const found = readLimit(host.readKernel(LIMITS) ?? "");
  const pid = /^\d+/.exec(host.readKernel(STAT) ?? "")?.[0];
  if (!host.runProgram || !found || pid === undefined || found.soft === maxOpenFiles) return;
  try {
    const { code, stderr } = await host.runProgram(
      {
        path: PROGRAM,
        args: ["--pid", pid, `--nofile=${maxOpenFiles}:${maxOpenFiles}`],
        env: {},
        input: "",
        timeoutMs: TIMEOUT_MS,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      },
      signal,
    );
    if (code !== 0) throw new OutsideError("denied", stderr.trim() || `code ${code}`);
    log.info("limit of open files set", { from: found.soft, to: maxOpenFiles });
  } catch (error) {
    if (signal.aborted || !isOutside(error)) throw error;
    const fields = { wanted: maxOpenFiles, found: found.soft, error };
    // More than is needed does no harm; too few cause errors under load.
    if (found.soft < maxOpenFiles) log.warn("maxOpenFiles not set", fields);
    else log.verbose(2, "maxOpenFiles not set", fields);
  }
}

/** The limit by the text of /proc/self/limits. */
export function readLimit(
  text: string,
): { readonly soft: number; readonly hard: number } | undefined {
  const [, soft, hard] = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)/m.exec(text) ?? [];
  if (soft === undefined || hard === undefined) return undefined;
  const numberOf = (word: string) => (word === "unlimited" ? Infinity : Number(word));
  return { soft: numberOf(soft), hard: numberOf(hard) };
}
