/** Access of a command to an API server, by a kubeconfig. */
import { type Clock, createSystemClock } from "../kit/clock.ts";
import { silentLog } from "../kit/log.ts";
import { createSystemRandom, type Random } from "../kit/random.ts";
import { connectMachine } from "../outside/connect.ts";
import { connectKube } from "../outside/kube/connect-kube.ts";
import * as kube from "../outside/kube/kube.ts";
import { CliError } from "../present/cli-error.ts";

const MAX_KUBECONFIG_BYTES = 1024 * 1024;

/** An API server, until `close` is called. */
export interface ApiAccess {
  readonly client: kube.KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Reads certificate files again as long as it runs; ends with the signal. */
  readonly keepFresh: (signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

/** Connects with a kubeconfig; `fix` says where the file comes from when it is not there. */
export async function connectApi(path: string, fix: string): Promise<ApiAccess> {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const log = silentLog;
  const { files } = connectMachine(log).host;
  const text = await files.readText(path, { maxBytes: MAX_KUBECONFIG_BYTES });
  if (text === undefined) throw new CliError(`there is no file ${path}`, { fix });
  const world = connectKube({ clock, random, log, userAgent: "nodelet" });
  const { endpoint, keepFresh } = await kube.loadEndpoint(kube.readKubeconfig(text, path), {
    files,
    clock,
    log,
    kube: world,
  });
  const transport = world.connect(endpoint);
  const client = new kube.KubeClient({}, { transport, clock, log });
  return { client, clock, random, keepFresh, close: () => transport.close() };
}
