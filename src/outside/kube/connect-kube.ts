import type { Clock } from "../../kit/clock.ts";
import { ApiActivity } from "./activity.ts";
import { ProgramExit, runCredentialProgram } from "./credential-program.ts";
import { H2Transport, type TransportDeps } from "./transport/h2-transport.ts";
import type { Kube } from "./transport/transport.ts";

/** Connections to API servers over the network. */
export function connectKube(deps: Omit<TransportDeps, "activity">): Kube {
  const activity = new ApiActivity();
  return {
    activity,
    connect: (endpoint) => new H2Transport(endpoint, { ...deps, activity }),
    runCredentialProgram: countedProgram(activity, deps.clock),
  };
}

/** Runs credential programs, and reports how they end and how long their certificates are used. */
function countedProgram(
  activity: ApiActivity,
  clock: Pick<Clock, "wall">,
): Kube["runCredentialProgram"] {
  let before: { readonly pem: string; readonly sinceMs: number } | undefined;
  return async (program, signal) => {
    try {
      const credentials = await runCredentialProgram(program, signal);
      activity.report({ kind: "program", code: "0", status: "no_error" });
      const pem = credentials.identity?.certificatePem;
      if (pem !== undefined && pem !== before?.pem) {
        const now = clock.wall();
        if (before)
          activity.report({
            kind: "programCertificate",
            ageSeconds: (now - before.sinceMs) / 1000,
          });
        before = { pem, sinceMs: now };
        activity.certificate(credentials.expiresAtMs);
      }
      return credentials;
    } catch (error) {
      if (!signal.aborted) activity.report({ kind: "program", ...outcomeOf(error) });
      throw error;
    }
  };
}

/** In client-go's words (exec/metrics.go). */
function outcomeOf(error: unknown): { readonly code: string; readonly status: string } {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof ProgramExit)
    return { code: String(cause.code), status: "plugin_execution_error" };
  const isMissing = (cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
  return { code: "1", status: isMissing ? "plugin_not_found_error" : "client_internal_error" };
}
