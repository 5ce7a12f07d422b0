/** `nodelet images load`, `pull` and `save`. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { normalImageName, parseImageReference } from "../../../api/text/image-reference.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { lookupCredentials, parseDockerConfig } from "../../../subsystems/images/images.ts";
import { CliError } from "../../cli-error.ts";
import type { CliContext } from "../../context.ts";
import { EXIT_NO_AGENT, EXIT_OK, EXIT_USAGE } from "../../exit-codes.ts";
import { type Io, writeLines } from "../../io.ts";
import { withOutputFile } from "../../local-images/output-file.ts";
import { withPlainArchive } from "../../local-images/plain-archive.ts";
import { readImageArchive } from "../../local-images/read-archive.ts";
import {
  loadImages,
  pullImage,
  type RegistryLogin,
  type StoredImage,
  saveImages,
  type TransferTarget,
} from "../../local-images/transfer.ts";
import { humanBytes } from "../../render/amounts.ts";
import { createProgressLine } from "../../render/progress.ts";
import { counted, oneLine } from "../../render/text.ts";
import { OpenLedger, readLedger } from "../../up/ledger.ts";
import { DEFAULT_PLACES, upPaths } from "../../up/paths.ts";
import { USUAL_SOCKET } from "../../up/runtime/find-runtime.ts";

interface RuntimeOptions {
  readonly stateDir: string;
  readonly containerd?: string;
}

interface LoadOptions extends RuntimeOptions {
  readonly input?: string;
  readonly name?: string;
}

interface SaveOptions extends RuntimeOptions {
  readonly output?: string;
}

/** Adds the commands that bring images in and out. */
export function addTransferCommands(images: Command, context: CliContext): void {
  const load = images
    .command("load")
    .summary("load images from an archive")
    .description(
      "Loads images from an archive as written by `docker save`, `skopeo copy` or `nodelet images " +
        "save`: docker or OCI format, uncompressed or compressed with gzip or zstd. `nodelet down` keeps " +
        "these images unless --images is given.",
    )
    .option("-i, --input <file>", "archive file; default is standard input")
    .option("--name <name>", "name for the image, if it has none in the archive");
  withRuntimeOptions(load)
    .addHelpText("after", LOAD_EXAMPLES)
    .action(async (options: LoadOptions) => {
      context.finish(await runLoad(options, context));
    });
  const pull = images
    .command("pull")
    .summary("pull images from a registry")
    .description(
      "Pulls images through the container runtime, with its registry settings and the credentials in " +
        "docker's configuration (~/.docker/config.json, or the folder in DOCKER_CONFIG). `nodelet down` " +
        "keeps these images unless --images is given.",
    )
    .argument("<images...>", "image names, e.g. docker.io/library/nginx:1.29 or nginx:1.29");
  withRuntimeOptions(pull).action(async (names: readonly string[], options: RuntimeOptions) => {
    context.finish(await runPull(names, options, context));
  });
  const save = images
    .command("save")
    .summary("save images to an archive")
    .description(
      "Writes images to an archive in OCI format that `nodelet images load` and `docker load` can read.",
    )
    .argument("<images...>", "image names as shown by `nodelet images`")
    .option("-o, --output <file>", "archive file; default is standard output");
  withRuntimeOptions(save).action(async (names: readonly string[], options: SaveOptions) => {
    context.finish(await runSave(names, options, context));
  });
}

const LOAD_EXAMPLES = `
Examples:
  docker save example/app:1 | sudo nodelet images load
  sudo nodelet images load -i app.tar.gz
  sudo nodelet images load -i oci.tar --name example/app:1
`;

function withRuntimeOptions(command: Command): Command {
  return command
    .option("--containerd <path>", "socket of the runtime; default is the one used by `nodelet up`")
    .option("--state-dir <folder>", "state folder of `nodelet up`", DEFAULT_PLACES.stateDir);
}

/** Where images go: the runtime of `up`, or a containerd of the machine. */
interface Place {
  readonly socket: string;
  /** Path of the notes of `up`; undefined when the runtime is another one. */
  readonly ledger: string | undefined;
}

function placeOf({ stateDir, containerd }: RuntimeOptions, io: Io): Place {
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

async function runLoad(options: LoadOptions, context: CliContext): Promise<number> {
  const { io } = context;
  const place = placeOf(options, io);
  const name = options.name === undefined ? undefined : checkedName(options.name);
  if (options.input === undefined && io.stdin.isTTY === true)
    throw new CliError("no archive given", {
      exitCode: EXIT_USAGE,
      fix: "nodelet images load -i image.tar, or pipe one in",
    });
  const file = options.input === undefined ? undefined : resolve(io.cwd, options.input);
  if (file !== undefined && !existsSync(file)) throw new CliError(`there is no file ${file}`);
  const source = { from: file ?? io.stdin, shown: file ?? "standard input" };
  const load = async (plain: string) => {
    const archive = readImageArchive(plain, name, source.shown);
    const loaded = await withProgress(
      "loading",
      context,
      (target) => loadImages(archive, target),
      place,
    );
    recordUserImages(place, archive.names);
    writeLines(
      io.stdout,
      loaded.map((image) => `Loaded image: ${imageLine(image)}`),
    );
    return EXIT_OK;
  };
  return await withPlainArchive(source, load, context.onInterrupt());
}

async function runPull(
  names: readonly string[],
  options: RuntimeOptions,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  const place = placeOf(options, io);
  const all = names.map(checkedName);
  for (const name of all) {
    const logins = loginsFor(name, io);
    if (io.stderr.isTTY !== true) writeLines(io.stderr, [`pulling ${name}`]);
    const image = await withProgress(
      `pulling ${name}`,
      context,
      (target) => pullImage(name, logins, target),
      place,
    );
    recordUserImages(place, [name]);
    writeLines(io.stdout, [`Pulled image: ${imageLine(image)}`]);
  }
  return EXIT_OK;
}

async function runSave(
  names: readonly string[],
  options: SaveOptions,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  const place = placeOf(options, io);
  const all = names.map(checkedName);
  if (options.output === undefined) {
    if (io.stdout.isTTY === true)
      throw new CliError("an archive cannot be written to a terminal", {
        exitCode: EXIT_USAGE,
        fix: "nodelet images save -o image.tar IMAGE, or redirect standard output",
      });
    await withProgress("saving", context, (target) => saveImages(all, io.stdout, target), place);
    return EXIT_OK;
  }
  const file = resolve(io.cwd, options.output);
  await withOutputFile(file, (output) =>
    withProgress("saving", context, (target) => saveImages(all, output, target), place),
  );
  writeLines(io.stdout, [`Saved ${counted(all.length, "image")} to ${file}`]);
  return EXIT_OK;
}

/** The name with the parts that are implied. Throws `CliError` for what is not an image name. */
function checkedName(name: string): string {
  if (parseImageReference(name) !== undefined) return normalImageName(name);
  throw new CliError(`${oneLine(name)} is not an image name`, {
    exitCode: EXIT_USAGE,
    fix: "write it as registry/path:tag, for example docker.io/library/nginx:1.29",
  });
}

/** Runs the work while its progress is shown. */
async function withProgress<T>(
  what: string,
  { io, onInterrupt }: CliContext,
  work: (target: TransferTarget) => Promise<T>,
  { socket }: Place,
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

function imageLine({ name, id, sizeBytes }: StoredImage): string {
  return `${name}  ${id.slice(0, "sha256:".length + 12)}  ${humanBytes(sizeBytes)}`;
}

/** Notes that the user brought the images, so that `down` keeps them. */
function recordUserImages({ ledger }: Place, names: readonly string[]): void {
  if (ledger === undefined) return;
  new OpenLedger(ledger).change(({ userImages }) => ({
    userImages: [...new Set([...userImages, ...names])],
  }));
}

/** Credentials for the image's registry in docker's configuration, the most particular first. */
function loginsFor(name: string, { env }: Io): readonly RegistryLogin[] {
  const folder = env["DOCKER_CONFIG"] || join(env["HOME"] || "/root", ".docker");
  const file = join(folder, "config.json");
  if (!existsSync(file)) return [];
  const reference = parseImageReference(name);
  try {
    const config = parseDockerConfig(readFileSync(file, "utf8"), "config.json");
    return lookupCredentials([{ config }], `${reference?.domain}/${reference?.path}`);
  } catch (error) {
    throw new CliError(`${file} cannot be used: ${messageOf(error)}`, {
      fix: "correct it, or log in again with docker login",
    });
  }
}
