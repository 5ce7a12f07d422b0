import type { Command } from "commander";
import { dumpYaml } from "../../api/text/yaml.ts";
import { FIELDS } from "../../config/fields/fields.ts";
import { encodeConfig } from "../../config/file/encode-config.ts";
import { hardenedFile } from "../../config/hardening.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { resolvePath } from "../../config/paths.ts";
import { getAt, type JsonObject, setAt } from "../../config/tree.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import type { CliContext } from "../context.ts";
import { type ConfigOptions, loadNamedConfig } from "./config.ts";

interface HardenOptions extends ConfigOptions {
  readonly clientCaFile?: string;
  readonly output?: string;
}

/** CA of client certificates in clusters made by kubeadm. */
const CLUSTER_CA = "/etc/kubernetes/pki/ca.crt";
const PRIVATE_MODE = 0o600;

/** `nodelet harden`: a configuration that follows the CIS benchmark. */
export function addHardenCommand(program: Command, context: CliContext): void {
  program
    .command("harden")
    .summary("write a configuration that follows the CIS benchmark")
    .description(
      "Writes the settings of the configuration files again, with those of section 4.2 of the CIS " +
        "benchmark for Kubernetes nodes set as it asks for. Nothing else is changed; start the agent " +
        "with the new file.",
    )
    .argument("[flags...]", "flags as for `nodelet run`, after --")
    .option("--config <file>", "the configuration file to begin with")
    .option("--config-dir <folder>", "folder of drop-in files")
    .option(
      "--client-ca-file <file>",
      `authority of the clients (default that of the configuration, else ${CLUSTER_CA})`,
    )
    .option("-o, --output <file>", "file to write, with mode 0600 (default standard output)")
    .action((flags: readonly string[], options: HardenOptions) => harden(flags, options, context));
}

async function harden(
  flags: readonly string[],
  options: HardenOptions,
  { io, finish }: CliContext,
): Promise<void> {
  const loaded = await loadNamedConfig(flags, options, io);
  if (loaded.problems.length > 0) return finish(EXIT_USAGE);
  const given = loaded.config.authentication.x509.clientCAFile;
  const file = hardenedFile(settingsOfFiles(loaded), {
    clientCaFile: options.clientCaFile ?? (given || CLUSTER_CA),
    certDir: loaded.flags.certDir,
  });
  const text = dumpYaml(file);
  if (options.output === undefined) io.stdout.write(text);
  else {
    const path = resolvePath(io.cwd, options.output);
    await connectMachine(silentLog).host.files.writeAtomic(path, text, PRIVATE_MODE);
    io.stdout.write(`wrote ${path}; start the agent with --config ${path}\n`);
  }
}

/** Settings that files set. */
function settingsOfFiles({ config, origins }: LoadedConfig): JsonObject {
  const encoded = encodeConfig(config);
  let tree: JsonObject = {};
  for (const { path } of FIELDS) {
    const { kind } = origins.get(path) ?? {};
    const value = getAt(encoded, path);
    if ((kind === "file" || kind === "dropIn") && value !== undefined)
      tree = setAt(tree, path, value);
  }
  return tree;
}
