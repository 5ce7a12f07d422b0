import { type Command, Option } from "commander";
import { CliError } from "../../present/cli-error.ts";
import type { Overview } from "../../present/shapes.ts";
import { kubernetesVersion, nodeletVersion } from "../../process/version.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeAs } from "../io.ts";

interface VersionOptions {
  readonly output?: "json" | "yaml";
  readonly socket?: string;
}

/** `nodelet version`: of this command, and of the agent when one runs. */
export function addVersionCommand(program: Command, context: CliContext): void {
  const command = program
    .command("version")
    .summary("show the versions of nodelet, Kubernetes and the runtime")
    .description(
      "Shows the versions of this command and, if it is running, of the agent and the container " +
        "runtime.",
    )
    .addOption(new Option("-o, --output <form>", "output format").choices(["json", "yaml"]));
  withSocketOption(command).action(async (options: VersionOptions) => {
    const own = {
      nodelet: nodeletVersion(),
      kubernetes: kubernetesVersion(undefined),
      node: process.version,
    };
    const agent = await agentVersion(context, options);
    const lines = [
      `nodelet ${own.nodelet}, the kubelet of Kubernetes ${own.kubernetes}, on Node ${own.node}`,
      agent === undefined
        ? "agent: not running"
        : `agent: ${agent.nodelet} on ${agent.runtime}, node ${agent.node}`,
    ];
    writeAs(options.output, { ...own, ...(agent ? { agent } : {}) }, () => lines, context.io);
  });
}

/** Versions of the running agent; `undefined` when none can be asked. */
async function agentVersion(
  context: CliContext,
  options: VersionOptions,
): Promise<{ nodelet: string; runtime: string; node: string } | undefined> {
  try {
    const overview = await clientOf(context, options).json<Overview>("/nodelet/v1/overview");
    return { nodelet: overview.version, runtime: overview.runtime, node: overview.node };
  } catch (thrown) {
    if (thrown instanceof CliError) return undefined;
    throw thrown;
  }
}
