/** The kubeadm that sets up the control plane: named by the user, of the machine, or a file of the release. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../kit/errors.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NOT_FOUND } from "../../present/exit-codes.ts";
import { findProgram, isExecutable } from "../../process/programs.ts";

/** Where the files of Kubernetes' releases are (https://kubernetes.io/releases/download/). */
const RELEASES = "https://dl.k8s.io/release";

/** What is wanted, and where it may come from. */
interface KubeadmSearch {
  /** The user's: a file, or a folder with `kubeadm` in it. */
  readonly named: string | undefined;
  /** Version of the cluster, like `v1.37.2`. */
  readonly version: string;
  /** Folder that keeps what is downloaded. */
  readonly folder: string;
  readonly print: (text: string) => void;
  /** Called before the folder is made. */
  readonly onDownload: () => void;
  /** Whether one of the machine will do; default any. */
  readonly isWanted?: (path: string) => Promise<boolean>;
  /** Default is the release's own server. */
  readonly releases?: string;
}

/** Absolute path of a kubeadm. Throws `CliError` when there is none and none can be had. */
export async function findKubeadm(search: KubeadmSearch): Promise<string> {
  const { named, version, folder, print, isWanted = async () => true } = search;
  if (named !== undefined) return ofTheUser(named);
  const found = findProgram("kubeadm");
  if (found !== undefined && (await isWanted(found))) return found;
  const kept = join(folder, `kubeadm-${version}`);
  if (isExecutable(kept)) return kept;
  print(`downloading kubeadm ${version}`);
  await download(search, kept);
  return kept;
}

function ofTheUser(named: string): string {
  const isFolder = statSync(named, { throwIfNoEntry: false })?.isDirectory() === true;
  const path = isFolder ? join(named, "kubeadm") : named;
  if (isExecutable(path)) return path;
  const problem = existsSync(path) ? "is no program" : "does not exist";
  throw new CliError(`--kubeadm: ${path} ${problem}`, {
    exitCode: EXIT_NOT_FOUND,
    fix: "name the file of kubeadm, or the folder that has it",
  });
}

/** The file appears under its name only with the checksum that the release publishes for it. */
async function download(search: KubeadmSearch, kept: string) {
  const { version, folder, releases = RELEASES } = search;
  const url = `${releases}/${version}/bin/linux/${process.arch === "x64" ? "amd64" : process.arch}/kubeadm`;
  const published = (await contentOf(`${url}.sha256`)).toString("utf8").trim();
  const bytes = await contentOf(url);
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== published)
    throw new CliError(`${url}: its checksum is ${digest}, but the release has ${published}`, {
      fix: "try again; if it stays so, get kubeadm from a source that you trust and name it with --kubeadm",
    });
  search.onDownload();
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  writeFileSync(`${kept}.new`, bytes, { mode: 0o755 });
  chmodSync(`${kept}.new`, 0o755);
  renameSync(`${kept}.new`, kept);
}

async function contentOf(url: string): Promise<Buffer> {
  const failed = (why: string, cause?: unknown) =>
    new CliError(`there is no kubeadm on this machine, and ${url} cannot be read: ${why}`, {
      fix: "install kubeadm, or name one with --kubeadm FILE",
      cause,
    });
  try {
    const response = await fetch(url);
    if (!response.ok) throw failed(`HTTP ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { cause } = error as { readonly cause?: unknown };
    throw failed(messageOf(cause ?? error), error);
  }
}
