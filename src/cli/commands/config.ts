import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { encodeConfig } from "../../config/file/encode-config.ts";
import { parseFlags } from "../../config/flags/flags.ts";
import { reviewFiles, reviewHardening, reviewService } from "../../config/hardening.ts";
import { type LoadedConfig, loadConfig } from "../../config/load.ts";
import { formatConfigProblem } from "../../config/problem.ts";
import type { Release } from "../../config/release.ts";
import { type ReleaseChange, releaseChanges } from "../../config/release-review.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import {
  fieldViews,
  renderChanges,
  renderFieldViews,
  renderFindings,
} from "../../present/config-view.ts";
import { EXIT_FAILURE, EXIT_USAGE } from "../../present/exit-codes.ts";
import { readNodeFiles } from "../../process/node-files.ts";
import type { CliContext } from "../context.ts";
import { writeAs } from "../io.ts";
import { DEFAULT_PLACES } from "../up/paths.ts";

export interface ConfigOptions {
  readonly config?: string;
  readonly configDir?: string;
}

interface ViewOptions extends ConfigOptions {
  readonly origins?: boolean;
  readonly changed?: boolean;
  readonly output?: "json" | "yaml";
}

/** `nodelet config view` and `nodelet config review`. */
export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program.command("config").summary("inspect the agent's configuration");
  config.description("Inspects the agent's configuration.");
  withConfigOptions(config.command("view"))
    .summary("show the effective configuration")
    .description(
      "Shows the effective configuration of an agent started now: defaults, configuration file, drop-in " +
        "files and flags merged. Problems are printed to standard error, with exit code 2.",
    )
    .option("--origins", "show where each value comes from")
    .option("--changed", "omit default values; implies --origins")
    .addOption(new Option("-o, --output <form>", "output format").choices(["yaml", "json"]))
    .addHelpText("after", EXAMPLES)
    .action((flags: readonly string[], options: ViewOptions) => view(flags, options, context));
  withConfigOptions(config.command("review"))
    .summary("check the configuration against the CIS benchmark and Kubernetes 1.37")
    .description(
      "Checks the effective configuration and the agent's files against section 4 of the CIS benchmark " +
        "for Kubernetes nodes. What the node does not have is n/a. The exit code is 1 if a " +
        "recommendation is not followed; nodelet harden writes a configuration that follows all of them. " +
        "Below that it names what changes for this configuration from Kubernetes 1.36 to 1.37: flags and " +
        "gates that are refused, gates and fields with other defaults, values that are read otherwise.",
    )
    .addOption(new Option("-o, --output <form>", "output format").choices(["yaml", "json"]))
    .action((flags: readonly string[], options: ViewOptions) => review(flags, options, context));
}

function withConfigOptions(command: Command): Command {
  return command
    .argument("[flags...]", "flags as for `nodelet run`, after --")
    .option(
      "--config <file>",
      `the configuration file (default ${DEFAULT_PLACES.config} if it exists)`,
    )
    .option("--config-dir <folder>", "folder of drop-in files");
}

const EXAMPLES = `
Examples:
  nodelet config view --changed
  nodelet config view --config /var/lib/kubelet/config.yaml -o yaml
  nodelet config view --origins -- --max-pods=50 --node-ip=192.0.2.1
`;

/** The configuration that options and flags name; what is wrong with it is printed. */
export async function loadNamedConfig(
  flags: readonly string[],
  options: ConfigOptions,
  io: CliContext["io"],
): Promise<LoadedConfig> {
  const loaded = await readNamedConfig(flags, options, io.cwd);
  for (const problem of loaded.problems)
    io.stderr.write(`nodelet: ${formatConfigProblem(problem)}\n`);
  return loaded;
}

async function readNamedConfig(
  flags: readonly string[],
  options: ConfigOptions,
  cwd: string,
): Promise<LoadedConfig> {
  const { files } = connectMachine(silentLog).host;
  const named = options.config ?? (existsSync(DEFAULT_PLACES.config) ? DEFAULT_PLACES.config : "");
  const argv = [
    ...(named === "" ? [] : [`--config=${named}`]),
    ...(options.configDir === undefined ? [] : [`--config-dir=${options.configDir}`]),
    ...flags,
  ];
  return await loadConfig(argv, files, { cwd });
}

async function review(
  flags: readonly string[],
  options: ViewOptions,
  { io, finish }: CliContext,
): Promise<void> {
  const loaded = await loadNamedConfig(flags, options, io);
  const changes = await reviewRelease(flags, options, io);
  const rendered = renderChanges(changes, { paint: io.paint });
  if (loaded.problems.length > 0) {
    writeAs(options.output, { findings: [], changes }, () => rendered, io);
    return finish(EXIT_USAGE);
  }
  const files = await readNodeFiles(loaded);
  const findings = [
    ...reviewFiles(files),
    ...reviewHardening(loaded.config, loaded.flags, loaded.gates),
    reviewService(files),
  ];
  const lines = () => [...renderFindings(findings, { paint: io.paint }), "", ...rendered];
  writeAs(options.output, { findings, changes }, lines, io);
  if (findings.some(({ holds }) => holds === "no")) finish(EXIT_FAILURE);
}

/** The same files and flags for each release, whatever they say of `compat`. */
async function reviewRelease(
  flags: readonly string[],
  options: ConfigOptions,
  io: CliContext["io"],
): Promise<readonly ReleaseChange[]> {
  const load = (release: Release) =>
    readNamedConfig([...flags, `--compat=${release}`], options, io.cwd);
  const [before, after] = await Promise.all([load("1.36"), load("1.37")]);
  return releaseChanges({ before, after, flags: parseFlags(flags).given });
}

async function view(
  flags: readonly string[],
  options: ViewOptions,
  { io, finish }: CliContext,
): Promise<void> {
  const loaded = await loadNamedConfig(flags, options, io);
  const changed = options.changed === true;
  const views = fieldViews(loaded).filter(({ origin }) => !changed || origin !== "default");
  const lines = () => renderFieldViews(views, { paint: io.paint });
  if (options.origins !== true && !changed)
    writeAs(options.output ?? "yaml", encodeConfig(loaded.config), lines, io);
  else writeAs(options.output, views, lines, io);
  if (loaded.problems.length > 0) finish(EXIT_USAGE);
}
