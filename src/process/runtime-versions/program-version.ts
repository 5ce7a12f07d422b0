/** Versions of the programs that run pods, and the warning about those with known vulnerabilities. */
import type { Log } from "../../kit/log.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { runProgram } from "../../outside/host/run-program.ts";
import { findProgram } from "../programs.ts";
import { type RuntimeProgram, vulnerabilitiesOf } from "./vulnerabilities.ts";

/** Longest time that a program may take to print its version. */
const TIMEOUT_MS = 5_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Version of a program, by default of the first on the PATH, such as `1.1.5+ds1`; `undefined` when it is missing or prints none. */
export async function programVersion(
  program: RuntimeProgram,
  path: string | undefined = findProgram(program),
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    const command = { path, args: ["--version"], env: {}, input: "" };
    const limits = { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES };
    const { stdout } = await runProgram({ ...command, ...limits }, NEVER_ABORTED);
    return /(?<=\s)v?\d+\.\d+\.\d\S*/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

/** Warns of the runtime that the agent uses, when one of its programs has known vulnerabilities. */
export async function warnOfVulnerabilities(
  {
    runtimeName,
    runtimeVersion,
  }: { readonly runtimeName: string; readonly runtimeVersion: string },
  log: Log,
): Promise<void> {
  if (runtimeName !== "containerd") return;
  const versions = { containerd: runtimeVersion, runc: await programVersion("runc") };
  for (const program of ["containerd", "runc"] as const) {
    const found = vulnerabilitiesOf(program, versions[program] ?? "");
    if (found === undefined) continue;
    const { version, names, fixedIn } = found;
    log.warn(
      "the container runtime has known vulnerabilities; update it, or use packages in which they are fixed",
      { program, version, vulnerabilities: names.join(", "), fixedIn },
    );
  }
}
