import { type Command, Option } from "commander";
import type { CliContext } from "../../context.ts";
import { runUpgrade } from "../../upgrade/upgrade.ts";
import { readDuration } from "../options/arguments.ts";
import { readVersion } from "../options/cluster.ts";
import { type FolderOptions, pathsOf, withFolderOptions } from "../options/places.ts";

interface UpgradeOptions extends FolderOptions {
  readonly kubernetesVersion: string;
  readonly kubeadm?: string;
  readonly ignorePreflightErrors?: string;
  readonly timeout: number;
  readonly yes?: boolean;
}

const TIMEOUT_MS = 3 * 60_000;

/** `nodelet upgrade`. */
export function addUpgradeCommand(program: Command, context: CliContext): void {
  const command = program
    .command("upgrade")
    .summary("bring the cluster to a newer version of Kubernetes")
    .description(
      "Brings the cluster of `nodelet up --control-plane` to a newer version by kubeadm: shows kubeadm's plan, asks, " +
        "and replaces one component after the other. kubeadm puts back what does not come up. On a machine that " +
        "has joined, it upgrades only that machine's part, after the first control plane. Pods keep running.",
    )
    .addOption(
      new Option("--kubernetes-version <version>", "to upgrade to, like v1.37.2")
        .argParser(readVersion)
        .makeOptionMandatory(),
    )
    .option(
      "--kubeadm <path>",
      "kubeadm of that version, or the folder that has it; default from the PATH, else downloaded",
    )
    .option(
      "--ignore-preflight-errors <names>",
      "kubeadm's checks that may fail, separated by commas",
    )
    .addOption(
      new Option("--timeout <duration>", "how long to wait for API server and node")
        .default(TIMEOUT_MS, "3m")
        .argParser(readDuration),
    )
    .option("-y, --yes", "do not ask for confirmation");
  withFolderOptions(command).action(async (options: UpgradeOptions) => {
    const request = {
      paths: pathsOf(options, context.io.cwd),
      version: options.kubernetesVersion,
      kubeadm: options.kubeadm,
      ignorePreflightErrors: options.ignorePreflightErrors?.split(",") ?? [],
      timeoutMs: options.timeout,
      yes: options.yes === true,
    };
    context.finish(await runUpgrade(request, context));
  });
}
