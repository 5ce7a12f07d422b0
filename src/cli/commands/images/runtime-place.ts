/** Shared by the commands that move images: target runtime, names, progress. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { normalImageName, parseImageReference } from "../../../api/text/image-reference.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { humanBytes } from "../../../present/amounts.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_NO_AGENT, EXIT_USAGE } from "../../../present/exit-codes.ts";
import { oneLine } from "../../../present/text.ts";
import type { CliContext } from "../../context.ts";
import type { Io } from "../../io.ts";
import type { StoredImage, TransferTarget } from "../../local-images/transfer.ts";
import { createProgressLine } from "../../progress.ts";
import { OpenLedger, readLedger } from "../../up/ledger.ts";
import { DEFAULT_PLACES, upPaths } from "../../up/paths.ts";
import { USUAL_SOCKET } from "../../up/runtime/find-runtime.ts";

export interface RuntimePlaceOptions {
  readonly stateDir: string;
  readonly containerd?: string;
}

/** Adds the options that choose the runtime. */
export function withRuntimeOptions(command: Command): Command {
  return command
    .option("--containerd <path>", "socket of the runtime; default is the one used by `nodelet up`")
    .option("--state-dir <folder>", "state folder of `nodelet up`", DEFAULT_PLACES.stateDir);
}

/** Target runtime of images: that of `up`, or a containerd of the machine. */
interface RuntimePlace {
  readonly socket: string;
  /** Path of the notes of `up`; undefined when the runtime is another one. */
  readonly ledger: string | undefined;
}

/** The runtime that the options name, by default the one of `up`. Throws `CliError` when nothing listens there. */
export function chosenRuntime({ stateDir, containerd }: RuntimePlaceOptions, io: Io): RuntimePlace {
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root can reach containerd's images", {
      fix: "run it with sudo",
    });
  const { ledger } = upPaths({ ...DEFAULT_PLACES, stateDir: resolve(io.cwd, stateDir) });
  const own = readLedger(ledger)?.runtime?.socket;
  const socket = containerd === undefined ? (own ?? USUAL_SOCKET) : resolve(io.cwd, containerd);
  if (!existsSync(socket))
    throw new CliError(`no container runtime listens at ${socket}`, {
      exitCode: EXIT_NO_AGENT,
      fix: "start the node: sudo nodelet up --detach",
    });
  return { socket, ledger: socket === own ? ledger : undefined };
}

/** The name with the parts that are implied. Throws `CliError` for what is not an image name. */
export function checkedName(name: string): string {
  if (parseImageReference(name) !== undefined) return normalImageName(name);
  throw new CliError(`${oneLine(name)} is not an image name`, {
    exitCode: EXIT_USAGE,
    fix: "write it as registry/path:tag, for example docker.io/library/nginx:1.29",
  });
}

/** Runs the work while its progress is shown. */
export async function withProgress<T>(
  what: string,
  { io, onInterrupt }: CliContext,
  work: (target: TransferTarget) => Promise<T>,
  { socket }: RuntimePlace,
): Promise<T> {
  const line = createProgressLine(what, io.stderr);
  const signal = onInterrupt();
  try {
    return await work({ socket, onProgress: (progress) => line.show(progress), signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!isOutside(error, "unavailable")) throw error;
    throw new CliError(`the container runtime at ${socket} does not answer: ${messageOf(error)}`, {
      exitCode: EXIT_NO_AGENT,
      cause: error,
    });
  } finally {
    line.close();
  }
}

/** Name, short id and size. */
export function imageLine({ name, id, sizeBytes }: StoredImage): string {
  return `${name}  ${id.slice(0, "sha256:".length + 12)}  ${humanBytes(sizeBytes)}`;
}

/** Notes that the user brought the images, so that `down` keeps them. */
export function recordUserImages({ ledger }: RuntimePlace, names: readonly string[]): void {
  if (ledger === undefined) return;
  new OpenLedger(ledger).change(({ userImages }) => ({
    userImages: [...new Set([...userImages, ...names])],
  }));
}
