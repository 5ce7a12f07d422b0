/** Preview of what `down` removes, gathered without changes, and the prompt for confirmation. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { messageOf } from "../../kit/errors.ts";
import { openDatabase } from "../../outside/database/database.ts";
import { counted } from "../../present/text.ts";
import { exportedText, listUserObjects } from "../export/list-objects.ts";
import { isUsers } from "../export/portable.ts";
import { type Io, writeLines } from "../io.ts";
import { queryRuntime, withRuntime } from "../runtime/query-runtime.ts";
import type { HostLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { orphanedAgent, readSupervisor } from "../up/supervise/supervisor-note.ts";

/** Subject of the request. */
interface PreviewRequest {
  readonly paths: UpPaths;
  readonly ledger: HostLedger;
  /** Whether the images go that the user loaded or pulled. */
  readonly images: boolean;
  readonly signal: AbortSignal;
}

/** Kinds that the user makes; others belong to the node itself. */
const KINDS = [
  ...["Namespace", "PriorityClass", "RuntimeClass", "ServiceAccount", "ConfigMap", "Secret"],
  ...["PersistentVolume", "PersistentVolumeClaim", "Service", "Pod"],
];

/** Lines that say what will be removed. */
export async function previewRemoval(request: PreviewRequest): Promise<readonly string[]> {
  const { ledger, images } = request;
  const kept = images ? [] : ledger.userImages;
  const { cluster } = ledger;
  const objects =
    cluster === undefined
      ? await objectLines(request)
      : cluster.joined === true
        ? ["the node's part in its cluster; its pods are not moved (nodelet leave does that)"]
        : ["the cluster: all its objects, its certificates and the data of etcd"];
  return [
    ...(await runtimeLines(request)),
    ...objects,
    ...(images && ledger.userImages.length > 0
      ? [`${counted(ledger.userImages.length, "image")} that you loaded or pulled`]
      : []),
    "configuration, keys, logs and the journal of decisions",
    ...(kept.length === 0
      ? []
      : [`(${counted(kept.length, "image")} that you loaded or pulled stay)`]),
  ];
}

async function runtimeLines({ ledger }: PreviewRequest): Promise<readonly string[]> {
  const { runtime } = ledger;
  if (runtime === undefined || (await queryRuntime(runtime.socket, 0)).kind !== "answers")
    return [];
  return await withRuntime(runtime.socket, async (cri, signal) => {
    const sandboxes = await cri.runtime.listSandboxes({}, signal);
    const names = new Set(
      sandboxes.map(({ metadata }) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`),
    );
    return names.size === 0
      ? []
      : [`${counted(names.size, "pod")}: ${[...names].toSorted().join(", ")}`];
  });
}

async function objectLines(request: PreviewRequest): Promise<readonly string[]> {
  try {
    const counts = await countObjects(request);
    const parts = KINDS.flatMap((kind) => {
      const count = counts.get(kind) ?? 0;
      return count === 0 ? [] : [`${count} ${kind}${count === 1 ? "" : pluralOf(kind)}`];
    });
    const data = (counts.get("PersistentVolumeClaim") ?? 0) > 0 ? ", with the data of claims" : "";
    return parts.length === 0 ? [] : [`objects of the node's own API: ${parts.join(", ")}${data}`];
  } catch (error) {
    return [`objects of the node's own API (they cannot be counted: ${messageOf(error)})`];
  }
}

const pluralOf = (kind: string): string => (kind.endsWith("s") ? "es" : "s");

/** The user's objects by kind: asked of the API while the agent runs, else read from its database. */
async function countObjects({
  paths,
  signal,
}: PreviewRequest): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const count = (object: Readonly<Record<string, unknown>>) => {
    const { kind } = object;
    if (typeof kind === "string" && isUsers(object)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  };
  const file = join(paths.api, "objects.db");
  if (runs(paths)) {
    if (existsSync(paths.kubeconfig))
      for await (const object of listUserObjects(paths.kubeconfig, undefined, signal))
        count(object);
  } else if (existsSync(file)) {
    const database = openDatabase(file);
    try {
      for (const { content } of database.rows())
        count(JSON.parse(content) as Readonly<Record<string, unknown>>);
    } finally {
      database.close();
    }
  }
  return counts;
}

function runs(paths: UpPaths): boolean {
  return readSupervisor(paths) !== undefined || orphanedAgent(paths) !== undefined;
}

/** Asks on the terminal whether all that may be removed; offers to export the objects first. */
export async function confirmRemoval(
  request: PreviewRequest,
  io: Io,
  lines: readonly string[],
): Promise<boolean> {
  const { paths, signal } = request;
  const offersExport = runs(paths) && existsSync(paths.kubeconfig);
  writeLines(io.stdout, ["This removes:", ...lines.map((line) => `  ${line}`)]);
  writeLines(io.stdout, ["`nodelet stop` ends pods and agent and keeps everything."]);
  const question = `Remove it? [y/N${offersExport ? ", e to export the objects first" : ""}] `;
  const reader = createInterface({ input: io.stdin, output: io.stdout });
  try {
    for (;;) {
      const answer = (await reader.question(question, { signal })).trim().toLowerCase();
      if (answer !== "e" || !offersExport) return answer === "y" || answer === "yes";
      const file = await exportObjects(request, io);
      writeLines(io.stdout, [`The objects are in ${file}.`]);
    }
  } catch (error) {
    // The end of the input, or Ctrl-C, is no consent.
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== "ABORT_ERR") throw error;
    return false;
  } finally {
    reader.close();
  }
}

/** Writes the user's objects into a file of the current folder that only its owner can read. */
async function exportObjects({ paths, signal }: PreviewRequest, io: Io): Promise<string> {
  const texts: string[] = [];
  for await (const object of listUserObjects(paths.kubeconfig, undefined, signal))
    texts.push(exportedText(object));
  const time = new Date(io.now()).toISOString().replace(/[:.]/g, "-");
  const file = join(io.cwd, `nodelet-export-${time}.yaml`);
  writeFileSync(file, texts.join(""), { mode: 0o600, flag: "wx" });
  return file;
}
