import { resolve } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { exportedText, listUserObjects } from "../export/list-objects.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";

interface ExportOptions {
  readonly namespace?: string;
  readonly kubeconfig: string;
}

/** `nodelet export`. */
export function addExportCommand(program: Command, context: CliContext): void {
  program
    .command("export")
    .summary("export the objects of the node's own API as YAML")
    .description(
      "Writes the objects you created in the node's own API as YAML for `kubectl apply -f -` on a " +
        "cluster: without status and fields set by the server, and sorted so that referenced objects come " +
        "first. Secrets are included in plain text.",
    )
    .option("-n, --namespace <name>", "export only this namespace")
    .option("--kubeconfig <file>", "of the API", upPaths(DEFAULT_PLACES).kubeconfig)
    .addHelpText("after", EXAMPLES)
    .action((options: ExportOptions) => writeObjects(options, context));
}

const EXAMPLES = `
Examples:
  sudo nodelet export > node.yaml
  sudo nodelet export | kubectl --kubeconfig cluster.kubeconfig apply -f -
`;

async function writeObjects(
  options: ExportOptions,
  { io, onInterrupt }: CliContext,
): Promise<void> {
  const { namespace, kubeconfig } = options;
  const objects = listUserObjects(resolve(io.cwd, kubeconfig), namespace, onInterrupt());
  for await (const object of objects) io.stdout.write(exportedText(object));
}
