/**
 * The sandbox image of a containerd that runs, from its effective configuration: from 2.0 on its CRI status does not
 * contain it (the image service is a plugin of its own), and an image that was never pulled is in no listing.
 */
import { readFileSync, readlinkSync, realpathSync } from "node:fs";
import { NEVER_ABORTED } from "../../../kit/within.ts";
import { runProgram } from "../../../outside/host/run-program.ts";
import { holderOf } from "../taken-ports.ts";

/** Bit of a socket that accepts connections (`SO_ACCEPTCON` in the table's flags, unix(7)). */
const LISTENING = 0x1_0000;

const DUMP_MS = 10_000;
const MAX_DUMP_BYTES = 1_048_576;
const PINNED_IMAGES = "[plugins.'io.containerd.cri.v1.images'.pinned_images]";

/**
 * The sandbox image that the containerd on this socket is configured with; `undefined` when the process cannot be
 * found or prints no such setting. Throws when it cannot be asked. Only a process of this mount namespace is asked, by its own program: a
 * container in the host's network could listen under the same path, and its program must not run here.
 */
export async function configuredSandboxImage(socket: string): Promise<string | undefined> {
  const inode = listeningInode(readFileSync("/proc/net/unix", "utf8"), realpathSync(socket));
  const holder = inode === undefined ? undefined : holderOf({ inode });
  if (holder?.name !== "containerd") return undefined;
  const { pid } = holder;
  if (readlinkSync(`/proc/${pid}/ns/mnt`) !== readlinkSync("/proc/self/ns/mnt")) return undefined;
  const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const { code, stdout, stderr } = await runProgram(
    {
      path: `/proc/${pid}/exe`,
      args: [...configOption(argv.slice(1)), "config", "dump"],
      env: {},
      input: "",
      timeoutMs: DUMP_MS,
      maxOutputBytes: MAX_DUMP_BYTES,
    },
    NEVER_ABORTED,
  );
  if (code !== 0) throw new Error(`config dump ended with ${code}: ${stderr.trim().slice(-300)}`);
  return pinnedSandbox(stdout);
}

/** The inode of the socket that listens on `path`, from a text of `/proc/net/unix`. */
export function listeningInode(table: string, path: string): string | undefined {
  for (const line of table.split("\n").slice(1)) {
    const [, , , flags = "", , , inode, ...rest] = line.trim().split(/\s+/);
    const listens = (Number.parseInt(flags, 16) & LISTENING) !== 0;
    if (listens && rest.join(" ") === path) return inode;
  }
  return undefined;
}

/** The option that names the configuration among the arguments of a containerd. */
export function configOption(args: readonly string[]): readonly string[] {
  for (const [at, argument] of args.entries()) {
    const [, value] = /^--?(?:c|config)=(.*)$/s.exec(argument) ?? [];
    const next = /^--?(?:c|config)$/.test(argument) ? args[at + 1] : undefined;
    const path = value ?? next;
    if (path !== undefined) return ["--config", path];
  }
  return [];
}

/**
 * The pinned image `sandbox` in what `containerd config dump` prints: TOML of one encoder, one setting a line, each
 * table under its full name.
 */
export function pinnedSandbox(dump: string): string | undefined {
  let section = "";
  for (const line of dump.split("\n").map((text) => text.trim())) {
    if (line.startsWith("[")) section = line.replaceAll('"', "'");
    const [, , image] = /^sandbox = (['"])([^'"]+)\1$/.exec(line) ?? [];
    if (image !== undefined && section === PINNED_IMAGES) return image;
  }
  return undefined;
}
