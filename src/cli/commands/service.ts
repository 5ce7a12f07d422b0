import { type Command, Option } from "commander";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { programPath } from "../../process/package-root.ts";
import type { CliContext } from "../context.ts";
import {
  installService,
  removeService,
  runSystemctl,
  type ServiceKind,
  type ServicePlaces,
  showService,
} from "../service/service.ts";
import { type PlaceOptions, pathsOf, withPlaceOptions } from "./options/places.ts";

interface UnitsOption {
  readonly unitDir: string;
}

interface InstallOptions extends PlaceOptions, UnitsOption {
  readonly kubeadm?: true;
  readonly start: boolean;
}

const UNITS = "/etc/systemd/system";

/** `nodelet service`. */
export function addServiceCommand(program: Command, context: CliContext): void {
  const command = program
    .command("service")
    .summary("run the agent as a service of systemd")
    .description(
      "Runs the agent as a service of systemd, which starts it at boot and again when it ends or is not well. " +
        "Pods keep running while the service is stopped, restarted or removed.",
    );
  addInstall(command, context);
  withUnitDir(
    command
      .command("remove")
      .description(
        "Stops the service and removes its unit, or its drop-in for the kubelet's unit.",
      ),
  ).action(async (options: UnitsOption) => {
    context.finish(await removeService(placesOf(options), context.io));
  });
  withUnitDir(
    command.command("status").description("Shows which unit is installed and how the agent is."),
  ).action(async (options: UnitsOption) => {
    context.finish(await showService(placesOf(options), context.io));
  });
}

function addInstall(command: Command, context: CliContext): void {
  const install = command
    .command("install")
    .description(
      "Writes the unit and starts it. Without flags the agent is the one of `nodelet up`, with its configuration and " +
        "its own API; with flags after `--` it is `nodelet run` with these.",
    )
    .argument("[flags...]", "flags of nodelet run, after --")
    .option("--kubeadm", "have the kubelet's unit of kubeadm start nodelet, by a drop-in")
    .addOption(new Option("--no-start", "write the file only"));
  withUnitDir(withPlaceOptions(install)).action(
    async (flags: readonly string[], options: InstallOptions) => {
      if (options.kubeadm && flags.length > 0) {
        throw new CliError("service install: --kubeadm takes its flags from kubeadm's files", {
          exitCode: EXIT_USAGE,
          fix: "put further flags into KUBELET_EXTRA_ARGS in /etc/default/kubelet",
        });
      }
      const paths = pathsOf(options, context.io.cwd);
      const service: ServiceKind = options.kubeadm
        ? { kind: "kubeadm" }
        : { kind: "own", flags, ...(flags.length > 0 ? {} : { up: paths }) };
      const starts = options.start;
      const { io } = context;
      context.finish(await installService(service, placesOf(options), { io, starts }));
    },
  );
}

function withUnitDir(command: Command): Command {
  return command.option("--unit-dir <folder>", "folder of systemd's units", UNITS);
}

function placesOf({ unitDir }: UnitsOption): ServicePlaces {
  return { units: unitDir, program: programPath(), systemctl: runSystemctl };
}
