/** `nodelet images load`, `pull` and `save`. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import { counted } from "../../../present/text.ts";
import type { CliContext } from "../../context.ts";
import { writeLines } from "../../io.ts";
import { dockerLogins } from "../../local-images/docker-logins.ts";
import { withOutputFile } from "../../local-images/output-file.ts";
import { withPlainArchive } from "../../local-images/plain-archive.ts";
import { readImageArchive } from "../../local-images/read-archive.ts";
import { loadImages, pullImage, saveImages } from "../../local-images/transfer.ts";
import {
  checkedName,
  chosenRuntime,
  imageLine,
  type RuntimePlaceOptions,
  recordUserImages,
  withProgress,
  withRuntimeOptions,
} from "./runtime-place.ts";

interface LoadOptions extends RuntimePlaceOptions {
  readonly input?: string;
  readonly name?: string;
}

interface SaveOptions extends RuntimePlaceOptions {
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
    .action((options: LoadOptions) => runLoad(options, context));
  const pull = images
    .command("pull")
    .summary("pull images from a registry")
    .description(
      "Pulls images through the container runtime, with its registry settings and the credentials in " +
        "docker's configuration (~/.docker/config.json, or the folder in DOCKER_CONFIG), including its " +
        "credential helpers (credsStore, credHelpers). `nodelet down` keeps these images unless --images " +
        "is given.",
    )
    .argument("<images...>", "image names, e.g. docker.io/library/nginx:1.29 or nginx:1.29");
  withRuntimeOptions(pull).action((names: readonly string[], options: RuntimePlaceOptions) =>
    runPull(names, options, context),
  );
  const save = images
    .command("save")
    .summary("save images to an archive")
    .description(
      "Writes images to an archive in OCI format that `nodelet images load` and `docker load` can read.",
    )
    .argument("<images...>", "image names as shown by `nodelet images`")
    .option("-o, --output <file>", "archive file; default is standard output");
  withRuntimeOptions(save).action((names: readonly string[], options: SaveOptions) =>
    runSave(names, options, context),
  );
}

const LOAD_EXAMPLES = `
Examples:
  docker save example/app:1 | sudo nodelet images load
  sudo nodelet images load -i app.tar.gz
  sudo nodelet images load -i oci.tar --name example/app:1
`;

async function runLoad(options: LoadOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const place = chosenRuntime(options, io);
  const name = options.name === undefined ? undefined : checkedName(options.name);
  if (options.input === undefined && io.stdin.isTTY === true)
    throw new CliError("no archive given", {
      exitCode: EXIT_USAGE,
      fix: "nodelet images load -i image.tar, or pipe one in",
    });
  const file = options.input === undefined ? undefined : resolve(io.cwd, options.input);
  if (file !== undefined && !existsSync(file)) throw new CliError(`${file} does not exist`);
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
    return;
  };
  return await withPlainArchive(source, load, context.onInterrupt());
}

async function runPull(
  names: readonly string[],
  options: RuntimePlaceOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const place = chosenRuntime(options, io);
  const all = names.map(checkedName);
  for (const name of all) {
    const logins = await dockerLogins(name, {
      env: io.env,
      warn: (text) => writeLines(io.stderr, [`nodelet: ${text}`]),
      signal: context.onInterrupt(),
    });
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
}

async function runSave(
  names: readonly string[],
  options: SaveOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const place = chosenRuntime(options, io);
  const all = names.map(checkedName);
  if (options.output === undefined) {
    if (io.stdout.isTTY === true)
      throw new CliError("an archive cannot be written to a terminal", {
        exitCode: EXIT_USAGE,
        fix: "nodelet images save -o image.tar IMAGE, or redirect standard output",
      });
    await withProgress("saving", context, (target) => saveImages(all, io.stdout, target), place);
    return;
  }
  const file = resolve(io.cwd, options.output);
  await withOutputFile(file, (output) =>
    withProgress("saving", context, (target) => saveImages(all, output, target), place),
  );
  writeLines(io.stdout, [`Saved ${counted(all.length, "image")} to ${file}`]);
}
