/**
 * Notes of what `up` has made, kept on disk before it is made, so that `down` removes just that: also
 * after a crash, and by another version.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { KEPT_BROKEN } from "../../kit/state/free-name.ts";
import { withFileLock } from "./file-lock.ts";
import type { OciTrials } from "./oci-trials.ts";

/** A process that cannot be mistaken for another one that got its number later. */
export interface ProcessMark {
  readonly pid: number;
  /** Clock ticks since boot when it began. */
  readonly startTicks: number;
}

/** The runtime that pods keep running. */
export type RuntimeNote =
  | { readonly kind: "own"; readonly socket: string; readonly process?: ProcessMark }
  | { readonly kind: "found"; readonly socket: string };

/** The cluster that the machine is a node of, or is becoming one. */
export interface ClusterNote {
  /** The program that made it, and that can undo it. */
  readonly kubeadm: string;
  readonly criSocket: string;
  /** Whether kubeadm has come to its end. */
  readonly made?: boolean;
  /** Whether `join` made the node; the cluster is another machine's then, and goes on without this one. */
  readonly joined?: boolean;
  /** False when the user has asked for no routes to the pods of other nodes. */
  readonly podRoutes?: boolean;
  /** Whether a network plugin of the cluster gives pods their network. */
  readonly networkPlugin?: boolean;
  /** Flags for the agent that the user has given; the supervisor reads them whenever it starts the agent. */
  readonly agentFlags?: readonly string[];
  /** The OCI runtime that the user has chosen for pods that name no RuntimeClass. */
  readonly ociRuntime?: string;
}

/** The unit of systemd that keeps a cluster's node running. */
export interface ServiceNote {
  /** The file of ours: the unit, or a drop-in of the one that a package has brought. */
  readonly file: string;
  /** Whether the unit was enabled before. */
  readonly enabled: boolean;
  /** Whether it was started before, with whatever success. */
  readonly started: boolean;
}

/** Things that `up` has created. */
export interface HostLedger {
  readonly format: typeof FORMAT;
  /** Folders that were not there before the first `up`, outermost first. */
  readonly folders: readonly string[];
  /** Files that `up` wrote, with the digest of what it wrote. */
  readonly files: Readonly<Record<string, string>>;
  readonly runtime?: RuntimeNote;
  readonly cluster?: ClusterNote;
  readonly service?: ServiceNote;
  /** References of images that `up` brought to a runtime it only found. */
  readonly images: readonly string[];
  /** References of images that the user loaded or pulled. */
  readonly userImages: readonly string[];
  /** Links that `up` made, with where they lead. */
  readonly links: Readonly<Record<string, string>>;
  /** Settings of the kernel before the first `up`, by their path below /proc/sys. */
  readonly sysctls: Readonly<Record<string, string>>;
  /** Whether the agent's cgroups were not there before. */
  readonly cgroups: readonly string[];
  /** Chains of packet filter rules that were there before, as `table/chain`. */
  readonly chainsBefore: readonly string[];
  /** Results of running a container with each OCI runtime of the machine. */
  readonly ociTrials: OciTrials;
}

const FORMAT = 1;

/** Nothing made yet. */
export const EMPTY_HOST_LEDGER: HostLedger = {
  format: FORMAT,
  folders: [],
  files: {},
  images: [],
  userImages: [],
  links: {},
  sysctls: {},
  cgroups: [],
  chainsBefore: [],
  ociTrials: {},
};

/** Reads the notes; `undefined` when there are none, or none that this version understands. */
export function readLedger(path: string): HostLedger | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const read = JSON.parse(readFileSync(path, "utf8")) as Partial<HostLedger> | null;
    return read?.format === FORMAT ? { ...EMPTY_HOST_LEDGER, ...read } : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the notes in one step. */
export function writeLedger(path: string, ledger: HostLedger): void {
  makeFolderOf(path);
  writeFileSync(`${path}.new`, `${JSON.stringify(ledger, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function makeFolderOf(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/** The file whose lock a command holds while it changes the notes. */
export function ledgerLock(path: string): string {
  return `${path}.lock`;
}

/** Renames notes that cannot be understood; with all names taken the first is replaced. */
function setAside(path: string): string {
  const names = Array.from({ length: KEPT_BROKEN }, (_, at) =>
    at === 0 ? `${path}.broken` : `${path}.broken.${at + 1}`,
  );
  const [first = `${path}.broken`] = names;
  const name = names.find((each) => !existsSync(each)) ?? first;
  if (name === first) rmSync(name, { recursive: true, force: true });
  renameSync(path, name);
  return name;
}

/** The notes in the hand of a running `up`: every change is on disk when the call returns. */
export class OpenLedger {
  /** Path of the damaged ledger that was set aside; `undefined` when it was valid or absent. */
  readonly setAsideAs: string | undefined;
  readonly #path: string;
  #now: HostLedger;

  constructor(path: string) {
    this.#path = path;
    const read = readLedger(path);
    this.#now = read ?? EMPTY_HOST_LEDGER;
    if (read === undefined && existsSync(path)) this.setAsideAs = setAside(path);
  }

  get now(): HostLedger {
    return this.#now;
  }

  /** Applies a change to what is on disk at that moment: several commands may change the notes at once. */
  change(update: (now: HostLedger) => Partial<HostLedger>): void {
    makeFolderOf(this.#path);
    this.#now = withFileLock(ledgerLock(this.#path), () => {
      const now = readLedger(this.#path) ?? this.#now;
      const next = { ...now, ...update(now) };
      writeLedger(this.#path, next);
      return next;
    });
  }

  /** Records folders that are about to be created; existing ones belong to others. */
  expectFolders(paths: readonly string[]): void {
    const all = [...new Set(paths.flatMap(withMissingParents))];
    if (all.every((path) => this.#now.folders.includes(path))) return;
    this.change(({ folders }) => ({ folders: [...new Set([...folders, ...all])] }));
  }

  /** Writes a file and notes it; the folder above must be there. */
  writeFile(path: string, content: string, mode: number): void {
    this.change(({ files }) => ({ files: { ...files, [path]: digestOf(content) } }));
    writeFileSync(`${path}.new`, content, { mode });
    renameSync(`${path}.new`, path);
  }
}

/** The path, when it is not there, behind all folders above it that are not there either. */
function withMissingParents(path: string): readonly string[] {
  if (existsSync(path)) return [];
  return [...withMissingParents(dirname(path)), path];
}

/** Owner of a file: ours as written, ours and changed since, another's, or absent. */
type FileState = "absent" | "ours" | "changed" | "foreign";

/** Compares a file with its record in the ledger. */
export function fileState(ledger: Pick<HostLedger, "files">, path: string): FileState {
  if (!existsSync(path)) return "absent";
  const written = ledger.files[path];
  if (written === undefined) return "foreign";
  return digestOf(readFileSync(path, "utf8")) === written ? "ours" : "changed";
}

function digestOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}
