import { resolve } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { EXIT_OK } from "../exit-codes.ts";
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
    .summary("write the objects of the node's own API as YAML")
    .description(
      "Writes what you made in the node's own API as YAML that `kubectl apply -f -` takes to a cluster: without " +
        "statuses, without what the server added, what others name first. Secrets are in it as they are.",
    )
    .option("-n, --namespace <name>", "only what is in this namespace")
    .option("--kubeconfig <file>", "of the API", upPaths(DEFAULT_PLACES).kubeconfig)
    .addHelpText("after", EXAMPLES)
    .action(async (options: ExportOptions) => {
      context.finish(await writeObjects(options, context));
    });
}

const EXAMPLES = `
Examples:
  sudo nodelet export > node.yaml
  sudo nodelet export | kubectl --kubeconfig cluster.kubeconfig apply -f -
`;

async function writeObjects(
  options: ExportOptions,
  { io, onInterrupt }: CliContext,
): Promise<number> {
  const { namespace, kubeconfig } = options;
  const objects = listUserObjects(resolve(io.cwd, kubeconfig), namespace, onInterrupt());
  for await (const object of objects) io.stdout.write(exportedText(object));
  return EXIT_OK;
}
