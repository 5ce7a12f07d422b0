import { UsageError } from "../kit/errors.ts";
import type { VersionResponse } from "../outside/cri/cri.ts";
import type { Outside } from "../outside/outside.ts";

/** Pause before the runtime is asked again for its version at start. */
const RUNTIME_RETRY_MS = 1_000;

/** Waits for the runtime; a runtime that speaks another CRI version is refused. */
export async function awaitRuntime(
  outside: Pick<Outside, "clock" | "log" | "cri">,
  signal: AbortSignal,
): Promise<VersionResponse> {
  for (let tries = 0; ; tries += 1) {
    try {
      const version = await outside.cri.runtime.version(signal);
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
