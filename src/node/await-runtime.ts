import { UsageError } from "../kit/errors.ts";
import { within } from "../kit/within.ts";
import type { VersionResponse } from "../outside/cri/cri.ts";
import type { Outside } from "../outside/outside.ts";

/** Pause before the runtime is asked again for its version at start. */
const RUNTIME_RETRY_MS = 1_000;

/** One that hangs is asked again, and reported, long before a call's usual deadline. */
const RUNTIME_ANSWER_MS = 10_000;

/** Waits for the runtime; a runtime that speaks another CRI version is refused. */
export async function awaitRuntime(
  outside: Pick<Outside, "clock" | "log" | "cri">,
  signal: AbortSignal,
): Promise<VersionResponse> {
  for (let tries = 0; ; tries += 1) {
    try {
      const limit = { clock: outside.clock, ms: RUNTIME_ANSWER_MS, what: "the container runtime" };
      const version = await within(limit, signal, (own) => outside.cri.runtime.version(own));
      if (version.runtimeApiVersion !== "v1") {
        throw new UsageError(
          `containerRuntimeEndpoint: the runtime ${version.runtimeName} ${version.runtimeVersion} supports CRI ${version.runtimeApiVersion}, but v1 is required; update the runtime`,
        );
      }
      return version;
    } catch (error) {
      if (error instanceof UsageError || signal.aborted) throw error;
      if (tries % 10 === 0) outside.log.warn("waiting for the container runtime", { error });
      await outside.clock.sleep(RUNTIME_RETRY_MS, signal);
    }
  }
}
