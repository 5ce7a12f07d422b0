/** `nodelet images build-from`. */
import { createReadStream, existsSync, mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseImageReference } from "../../../api/text/image-reference.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import { counted, oneLine } from "../../../present/text.ts";
import type { CliContext } from "../../context.ts";
import { writeLines } from "../../io.ts";
import { type BuiltImage, buildImage } from "../../local-images/build-image.ts";
import type { SkippedEntry } from "../../local-images/folder-layer.ts";
import { goArchitecture, type ImageConfig } from "../../local-images/image-archive.ts";
import { withOutputFile } from "../../local-images/output-file.ts";
import { readImageArchive } from "../../local-images/read-archive.ts";
import { loadImages } from "../../local-images/transfer.ts";
import { createProgressLine } from "../../progress.ts";
import {
  checkedName,
  chosenRuntime,
  imageLine,
  type RuntimePlaceOptions,
  recordUserImages,
  withProgress,
  withRuntimeOptions,
} from "./runtime-place.ts";

type Words = readonly string[];
type Pairs = Readonly<Record<string, string>>;

interface BuildOptions extends RuntimePlaceOptions {
  readonly tag: Words;
  readonly entrypoint?: Words;
  readonly cmd?: Words;
  readonly env?: Pairs;
  readonly label?: Pairs;
  readonly workdir?: string;
  readonly user?: string;
  readonly expose?: Words;
  readonly stopSignal?: string;
  readonly chown: FileOwner;
  readonly output?: string;
}

interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

const ROOT_OWNER: FileOwner = { uid: 0, gid: 0 };
/** Skipped files that are named one by one. */
const MAX_NAMED = 5;
const MAX_PORT = 65_535;
/** The largest id; the one above stands for none. */
const MAX_ID = 2 ** 32 - 2;

const EXAMPLES = `
Examples:
  # An image with one static program, for pods with image: localhost/app:1
  sudo nodelet images build-from ./out --tag localhost/app:1 --entrypoint /app

  # A root file system, e.g. from debootstrap, with a command and an environment variable
  sudo nodelet images build-from /srv/rootfs -t localhost/web:1 \\
    --entrypoint '["/usr/sbin/nginx","-g","daemon off;"]' --env TZ=UTC --expose 80

  # An OCI archive for another machine; needs neither root nor a container runtime
  nodelet images build-from ./out --tag example.com/app:1 -o app.tar
`;

/** Adds `images build-from`. */
export function addBuildCommand(images: Command, context: CliContext): void {
  const build = images
    .command("build-from")
    .summary("build an image from a folder")
    .description(
      "Builds an image whose root file system is the content of a folder, and loads it on the node. The same " +
        "content gives the same image: modes and hard links are kept; times are not, and everything is " +
        "owned by root unless --chown is given. Symbolic links are stored as they are and never followed. " +
        "Devices, sockets, named pipes and what is mounted inside the folder are skipped. `nodelet down` " +
        "keeps the image unless --images is given.",
    )
    .argument("<folder>", "folder that becomes / in the image")
    .addOption(
      new Option("-t, --tag <name>", "name of the image, e.g. localhost/app:1; can be repeated")
        .argParser(tagNames)
        .makeOptionMandatory(),
    )
    .option(
      "--entrypoint <command>",
      'program to run: a path, or a JSON array such as \'["/app","--verbose"]\'',
      commandWords,
    )
    .option(
      "--cmd <command>",
      "arguments of the entrypoint, or without one the command, in the same form",
      commandWords,
    )
    .addOption(pairOption("-e, --env <name=value>", "environment variable; can be repeated"))
    .addOption(pairOption("-l, --label <key=value>", "label; can be repeated"))
    .option("-w, --workdir <path>", "working directory in the image", absolutePath)
    .option("-u, --user <user>", "user to run as, e.g. 1000 or 1000:1000", userName)
    .option("--expose <port>", "port that the program listens on, e.g. 80; can be repeated", ports)
    .option("--stop-signal <signal>", "signal that stops the program, e.g. SIGQUIT", signalName)
    .addOption(
      new Option("--chown <uid:gid>", "owner of all files in the image")
        .argParser(ownerOf)
        .default(ROOT_OWNER, "0:0"),
    )
    .option("-o, --output <file>", "write an OCI archive instead of loading the image");
  withRuntimeOptions(build)
    .addHelpText("after", EXAMPLES)
    .action((folder: string, options: BuildOptions) => runBuild(folder, options, context));
}

async function runBuild(folder: string, options: BuildOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const root = rootFolder(resolve(io.cwd, folder));
  const output = options.output === undefined ? undefined : resolve(io.cwd, options.output);
  const place = output === undefined ? chosenRuntime(options, io) : undefined;
  const signal = context.onInterrupt();
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "nodelet-images-")));
  const file = join(scratch, "image.tar");
  const line = createProgressLine("building", io.stderr);
  try {
    const built = await buildImage(
      {
        layer: { folder: root, owner: options.chown, except: scratch, signal },
        names: options.tag,
        config: configOf(options),
        architecture: goArchitecture(),
        onProgress: (progress) => line.show(progress),
      },
      file,
    );
    line.close();
    writeLines(io.stderr, notesOn(built, options));
    if (output !== undefined) {
      await withOutputFile(output, (stream) =>
        pipeline(createReadStream(file), stream, { signal }),
      );
      const lines = options.tag.map((name) => `Built image: ${imageLine({ ...built, name })}`);
      writeLines(io.stdout, [...lines, `Saved ${counted(lines.length, "image")} to ${output}`]);
    } else if (place !== undefined) {
      const archive = readImageArchive(file, undefined);
      const load = await withProgress("loading", context, (to) => loadImages(archive, to), place);
      recordUserImages(place, options.tag);
      writeLines(
        io.stdout,
        load.map((image) => `Built image: ${imageLine(image)}`),
      );
    }
    return;
  } finally {
    line.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function rootFolder(path: string): string {
  if (!existsSync(path)) throw new CliError(`${path} does not exist`, { exitCode: EXIT_USAGE });
  if (!statSync(path).isDirectory())
    throw new CliError(`${path} is not a folder`, {
      exitCode: EXIT_USAGE,
      fix: "name the folder that holds the files of the image; `nodelet images load` reads archives",
    });
  return realpathSync(path);
}

function configOf(options: BuildOptions): ImageConfig {
  const { entrypoint, cmd, env, user, workdir, label, expose, stopSignal } = options;
  return {
    ...(entrypoint && { entrypoint }),
    ...(cmd && { command: cmd }),
    ...(env && { env }),
    ...(user !== undefined && { user }),
    ...(workdir !== undefined && { workingDir: workdir }),
    ...(label && { labels: label }),
    ...(expose && { exposedPorts: expose }),
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

function notesOn({ skipped }: BuiltImage, { entrypoint, cmd }: BuildOptions): readonly string[] {
  const shown = skipped.slice(0, MAX_NAMED).map(skippedLine);
  const more = skipped.length - shown.length;
  return [
    ...shown,
    ...(more > 0 ? [`nodelet: skipped ${more} more`] : []),
    ...(entrypoint === undefined && cmd === undefined
      ? ["nodelet: the image has no --entrypoint and no --cmd: containers must set command"]
      : []),
  ];
}

function skippedLine({ path, why }: SkippedEntry): string {
  return `nodelet: skipped ${oneLine(path)}: ${why}`;
}

function tagNames(text: string, before: Words = []): Words {
  const name = checkedName(text);
  if (parseImageReference(name)?.digest !== undefined)
    throw new InvalidArgumentError("write a name with a tag; the digest is computed");
  return [...new Set([...before, name])];
}

function commandWords(text: string): Words {
  if (!text.startsWith("[")) {
    if (text !== "" && !/\s/.test(text)) return [text];
    throw new InvalidArgumentError(
      'write arguments as a JSON array, e.g. \'["/app","--verbose"]\'',
    );
  }
  try {
    const words = JSON.parse(text) as unknown;
    if (Array.isArray(words) && words.length > 0 && words.every((w) => typeof w === "string"))
      return words;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('write a JSON array of strings, e.g. \'["/app","--verbose"]\'');
}

function pairOption(flags: string, about: string): Option {
  return new Option(flags, about).argParser(pairs);
}

function pairs(text: string, before: Pairs = {}): Pairs {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError("write a name, =, and a value");
  return { ...before, [name]: value };
}

function absolutePath(text: string): string {
  if (text.startsWith("/")) return text;
  throw new InvalidArgumentError("write an absolute path");
}

function userName(text: string): string {
  if (/^[\w.-]+(:[\w.-]+)?$/.test(text)) return text;
  throw new InvalidArgumentError("write a user, or user:group, as names or numbers");
}

function ports(text: string, before: Words = []): Words {
  const [, number, protocol = "tcp"] = /^(\d{1,5})(?:\/(tcp|udp|sctp))?$/.exec(text) ?? [];
  if (number === undefined || Number(number) < 1 || Number(number) > MAX_PORT)
    throw new InvalidArgumentError("write a port from 1 to 65535, e.g. 80, 53/udp");
  return [...new Set([...before, `${Number(number)}/${protocol}`])];
}

function signalName(text: string): string {
  const name = /^\d+$/.test(text) || text.startsWith("SIG") ? text : `SIG${text}`;
  if (name in constants.signals || Object.values(constants.signals).includes(Number(name) as never))
    return name;
  throw new InvalidArgumentError("write a signal such as SIGQUIT");
}

function ownerOf(text: string): FileOwner {
  const [uid = -1, gid = -1, ...more] = text
    .split(":")
    .map((id) => (/^\d+$/.test(id) ? Number(id) : -1));
  if (more.length === 0 && [uid, gid].every((id) => id >= 0 && id <= MAX_ID)) return { uid, gid };
  throw new InvalidArgumentError("write user and group as numbers, e.g. 1000:1000");
}
