import type { CommandContext } from "../context.ts";
import type { UpPaths } from "./paths.ts";
import type { RuntimeChoice } from "./runtime/find-runtime.ts";

/** The user's request. */
export interface UpRequest {
  readonly paths: UpPaths;
  readonly containerd: RuntimeChoice;
  /** Name of the OCI runtime for pods that name no RuntimeClass, on a containerd of our own. */
  readonly ociRuntime: string | undefined;
  /** Flags for the agent. */
  readonly agentFlags: readonly string[];
  readonly demo: boolean;
  readonly detach: boolean;
  readonly untilReady: boolean;
  /** How long `untilReady` and `detach` wait. */
  readonly timeoutMs: number;
  readonly checkOnly: boolean;
}

/** Dependencies of `up`. */
export interface UpContext extends CommandContext {
  /** This command again, without its view, for the background. */
  readonly backgroundArgv: readonly [string, ...string[]];
}
