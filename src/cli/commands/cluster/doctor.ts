import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { runDoctor } from "../../doctor/doctor.ts";
import { type PlaceOptions, pathsOf, withPlaceOptions } from "../options/places.ts";

/** `nodelet doctor`. */
export function addDoctorCommand(program: Command, context: CliContext): void {
  const command = program
    .command("doctor")
    .summary("check machine, agent and control plane")
    .description(
      "Checks the machine as `nodelet up --check` does, the node and the agent's own problems, and on a control plane " +
        "its components, the size and alarms of etcd, and certificates that end soon. Changes nothing. The exit " +
        "code is 1 when something is wrong.",
    );
  withPlaceOptions(command).action(async (options: PlaceOptions) => {
    context.finish(await runDoctor(pathsOf(options, context.io.cwd), context));
  });
}
