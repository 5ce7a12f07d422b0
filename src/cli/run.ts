import { startAgent } from "../agent.ts";
import { deriveImageEndpoint, deriveNodeName } from "../config/derive.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { formatConfigProblem } from "../config/problem.ts";
import { createSystemClock } from "../kit/clock.ts";
import { silentLog } from "../kit/log.ts";
import { connectOutside } from "../outside/connect.ts";
import { connectHost } from "../outside/host/connect-host.ts";
import { createLog } from "../outside/log/log.ts";
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from "./exit-codes.ts";

/**
 * `nodelet run`: the agent in the foreground, with the flags of the kubelet, until SIGINT or SIGTERM.
 * Containers run on when it leaves. Resolves with the exit code.
 */
export async function runAgent(argv: readonly string[]): Promise<number> {
  const files = connectHost({ clock: createSystemClock(), log: silentLog }).files;
  const loaded = await loadConfig(argv, files, { cwd: process.cwd() });
  if (loaded.problems.length > 0) {
    for (const problem of loaded.problems)
      process.stderr.write(`nodelet: ${formatConfigProblem(problem)}\n`);
    return EXIT_USAGE;
  }
  const { config, flags } = loaded;
  const log = createLog({
    format: config.logging.format === "json" ? "json" : "text",
    verbosity: config.logging.verbosity,
    fd: 2,
  });
  sayAboutConfig(loaded, log);
  const outside = connectOutside(
    {
      runtimeEndpoint: config.containerRuntimeEndpoint,
      imageEndpoint: deriveImageEndpoint(config),
      runtimeTimeoutMs: config.runtimeRequestTimeout,
    },
    log,
  );
  const nodeName = deriveNodeName((await outside.host.facts()).hostname, flags.hostnameOverride);
  if (!nodeName.ok) {
    process.stderr.write(`nodelet: ${formatConfigProblem(nodeName.problem)}\n`);
    return EXIT_USAGE;
  }
  const leave = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => leave.abort(new Error(`received ${signal}`));
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    await using agent = await startAgent(
      { config, nodeName: nodeName.name, rootFolder: flags.rootDir },
      outside,
      { leave: leave.signal },
    );
    log.info("agent is running", {
      node: nodeName.name,
      runtime: agent.runtimeVersion.runtimeName,
    });
    await agent.untilLeaving(leave.signal);
    log.info("agent is leaving; containers run on", {
      reason: String((leave.signal.reason as Error).message),
    });
    return EXIT_OK;
  } catch (error) {
    if (leave.signal.aborted) return EXIT_OK;
    log.error("agent cannot go on", { error });
    return EXIT_FAILURE;
  } finally {
    outside.close();
    log.flush();
  }
}

function sayAboutConfig(
  { warnings, noEffect }: LoadedConfig,
  log: ReturnType<typeof createLog>,
): void {
  for (const warning of warnings) log.warn(warning);
  for (const { path, effect, origin } of noEffect) {
    log.warn("setting has no effect", { setting: path, effect, origin: JSON.stringify(origin) });
  }
}
