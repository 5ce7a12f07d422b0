import { expandVariables } from "../../api/expand.ts";
import type { Container, ExecAction } from "../../api/generated/types.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import { MAX_OUTPUT_BYTES, type ProbeOutcome, type ProbeRequest } from "./outcome.ts";
import { goDuration } from "./target.ts";

/** Runs the command in the container; exit status 0 is success. */
export async function probeExec(
  runtime: Pick<RuntimeService, "execSync">,
  action: ExecAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const command = expandCommand(action.command ?? [], request.container);
  const timeoutSeconds = Math.max(1, Math.ceil(request.timeoutMs / 1000));
  try {
    const result = await runtime.execSync(request.containerId, command, timeoutSeconds, signal);
    const output = combined(result.stdout, result.stderr);
    return result.exitCode === 0
      ? { kind: "success", output }
      : { kind: "failure", output, timedOut: false };
  } catch (error) {
    if (signal.aborted) throw error;
    if (isOutside(error, "deadline")) {
      return {
        kind: "failure",
        output: `command timed out: ${JSON.stringify(command.join(" "))} timed out after ${goDuration(request.timeoutMs)}`,
        timedOut: true,
      };
    }
    return { kind: "error", message: messageOf(error) };
  }
}

/** `$(NAME)` by values that stand in the spec itself; those that come from elsewhere are empty here. */
export function expandCommand(command: readonly string[], container: Container): readonly string[] {
  const values = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? ""]));
  return command.map((part) => expandVariables(part, (name) => values.get(name)));
}

function combined(stdout: Uint8Array, stderr: Uint8Array): string {
  const kept = new Uint8Array(Math.min(stdout.length + stderr.length, MAX_OUTPUT_BYTES));
  const first = stdout.subarray(0, kept.length);
  kept.set(first);
  kept.set(stderr.subarray(0, kept.length - first.length), first.length);
  return new TextDecoder().decode(kept);
}
