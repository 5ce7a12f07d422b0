import { resolve } from "node:path";
import type { Command } from "commander";
import { dumpYaml } from "../../api/text/yaml.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createSystemRandom } from "../../kit/random.ts";
import { connectMachine } from "../../outside/connect.ts";
import { connectKube } from "../../outside/kube/connect-kube.ts";
import * as kube from "../../outside/kube/kube.ts";
import { CliError } from "../cli-error.ts";
import type { CliContext } from "../context.ts";
import { EXIT_OK } from "../exit-codes.ts";
import { isUsers, portable } from "../export/portable.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";

interface ExportOptions {
  readonly namespace?: string;
  readonly kubeconfig: string;
}

/** In the order in which they have to be made: what others name comes first. */
const RESOURCES: readonly kube.Resource<object>[] = [
  kube.NAMESPACES,
  kube.PRIORITY_CLASSES,
  kube.RUNTIME_CLASSES,
  kube.SERVICE_ACCOUNTS,
  kube.CONFIG_MAPS,
  kube.SECRETS,
  kube.PERSISTENT_VOLUMES,
  kube.PERSISTENT_VOLUME_CLAIMS,
  kube.SERVICES,
  kube.PODS,
];
const MAX_KUBECONFIG_BYTES = 1024 * 1024;

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
  const { namespace } = options;
  const signal = onInterrupt();
  const { client, close } = await connect(resolve(io.cwd, options.kubeconfig));
  try {
    for (const resource of RESOURCES) {
      if (namespace !== undefined && !resource.namespaced) continue;
      const place = namespace === undefined ? {} : { namespace };
      const { items } = await client.list(resource, place, signal);
      for (const item of items) {
        const object = item as unknown as Readonly<Record<string, unknown>>;
        if (isUsers(object)) io.stdout.write(`---\n${dumpYaml(portable(object))}`);
      }
    }
    return EXIT_OK;
  } catch (error) {
    if (!isOutside(error, "unavailable")) throw error;
    throw new CliError("the node's own API does not answer", {
      fix: "start it with: sudo nodelet up --detach",
      cause: error,
    });
  } finally {
    close();
  }
}

async function connect(path: string) {
  const clock = createSystemClock();
  const log = silentLog;
  const { files } = connectMachine(log).host;
  const text = await files.readText(path, { maxBytes: MAX_KUBECONFIG_BYTES });
  if (text === undefined)
    throw new CliError(`there is no file ${path}`, {
      fix: "nodelet up writes it where the node has an API of its own",
    });
  const world = connectKube({ clock, random: createSystemRandom(), log, userAgent: "nodelet" });
  const { endpoint } = await kube.loadEndpoint(kube.readKubeconfig(text, path), {
    files,
    clock,
    log,
    kube: world,
  });
  const transport = world.connect(endpoint);
  const client = new kube.KubeClient({}, { transport, clock, log });
  return { client, close: () => transport.close() };
}
