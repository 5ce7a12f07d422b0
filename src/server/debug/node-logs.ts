import { isOutside } from "../../kit/errors.ts";
import type {
  OpenFile,
  OpenFolderBeneath,
  ReplyStream,
  StreamProgram,
} from "../../outside/serving.ts";
import { type Call, TEXT_HEADERS } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import { folderPage, logContentType, parseRange } from "./file-pages.ts";
import {
  journalArguments,
  logFilesOf,
  type NodeLogOptions,
  type NodeLogRequest,
  parseNodeLogQuery,
} from "./node-log-query.ts";

interface NodeLogDeps {
  readonly openFolder: OpenFolderBeneath;
  readonly streamProgram: StreamProgram;
  /** Whether queries of services are answered (`enableSystemLogQuery`). */
  readonly queries: boolean;
  /** Folder of the node's logs. */
  readonly folder: string;
}

const NOT_FOUND = "404 page not found\n";
const CHUNK_BYTES = 64 * 1024;
/** Bytes by which the type of a file is judged. */
const SNIFF_BYTES = 512;
/** Both runs of `journalctl` for one query, together. */
const QUERY_MS = 30_000;
/** Most that one query answers. */
const MAX_QUERY_BYTES = 64 * 1024 * 1024;
/** Names of all units that the journal knows. */
const MAX_UNITS_BYTES = 4 * 1024 * 1024;

/** `/logs/`: files below the node's log folder and, where switched on, logs of services by `query`. */
export async function replyNodeLogs(call: Call, deps: NodeLogDeps): Promise<void> {
  const path = call.params["path"] ?? "";
  const asked: NodeLogRequest = deps.queries
    ? parseNodeLogQuery(call.query, path)
    : { kind: "path" };
  switch (asked.kind) {
    case "path":
      return await replyPath(call, path, deps);
    case "file":
      return await replyPath(call, asked.path.replace(/^\/+/, ""), deps);
    case "services":
      return await replyServices(call, asked, deps);
    default:
      return asked satisfies never;
  }
}

/** A file, or the list of a folder. Nothing is opened through a symbolic link. */
async function replyPath(call: Call, path: string, deps: NodeLogDeps): Promise<void> {
  await using file = await openLogFile(path, deps);
  if (file) return await replyFile(call, path, file);
  await using folder = await refusing(() => deps.openFolder(deps.folder, path));
  if (!folder) throw new HttpProblem(404, NOT_FOUND);
  if (!call.path.endsWith("/")) return await redirect(call);
  const page = folderPage(await refusing(() => folder.list()));
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
  };
  await call.exchange.reply(200, headers, page);
}

/** Names on the page of a folder are relative to it, so its own name must end in a slash. */
async function redirect(call: Call): Promise<void> {
  const name = call.path.slice(call.path.lastIndexOf("/") + 1);
  await call.exchange.reply(301, { ...TEXT_HEADERS, location: `./${name}/` }, "");
}

/** A regular file below the log folder; `undefined` where there is none of that name. */
async function openLogFile(path: string, deps: NodeLogDeps): Promise<OpenFile | undefined> {
  const parts = path.split("/").filter((part) => part !== "");
  const name = parts.pop();
  if (name === undefined) return undefined;
  return await refusing(async () => {
    await using folder = await deps.openFolder(deps.folder, parts.join("/"));
    return await folder?.open(name);
  });
}

/** Paths that leave the folder or lead through links are refused; other failures are the node's. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isOutside(error, "invalid")) throw new HttpProblem(400, "invalid URL path\n", error);
    if (isOutside(error, "precondition", "denied"))
      throw new HttpProblem(403, "403 Forbidden: symbolic links are not followed\n", error);
    throw error;
  }
}

async function replyFile(call: Call, path: string, file: OpenFile): Promise<void> {
  const { exchange } = call;
  const sizeBytes = await file.sizeBytes();
  const range = parseRange(exchange.headers["range"], sizeBytes);
  if (range === "unsatisfiable") {
    const headers = { ...TEXT_HEADERS, "content-range": `bytes */${sizeBytes}` };
    return await exchange.reply(416, headers, "invalid range: failed to overlap\n");
  }
  const { start, length } = range ?? { start: 0, length: sizeBytes };
  const headers = {
    "accept-ranges": "bytes",
    "content-type": logContentType(path, await file.read(0, SNIFF_BYTES)),
    "content-length": String(length),
    "x-content-type-options": "nosniff",
    ...(range ? { "content-range": `bytes ${start}-${start + length - 1}/${sizeBytes}` } : {}),
  };
  const status = range ? 206 : 200;
  if (exchange.method === "HEAD") return await exchange.reply(status, headers);
  const stream = exchange.replyStream(status, headers);
  await copyFile(file, { start, length }, stream);
  await stream.end();
}

async function copyFile(
  file: OpenFile,
  { start, length }: { readonly start: number; readonly length: number },
  stream: Pick<ReplyStream, "write">,
): Promise<void> {
  for (let done = 0; done < length; ) {
    const chunk = await file.read(start + done, Math.min(CHUNK_BYTES, length - done));
    if (chunk.length === 0) return;
    await stream.write(chunk);
    done += chunk.length;
  }
}

/** Logs of services: of those that the journal knows from there, of the others from files. */
async function replyServices(
  call: Call,
  { services, options }: { readonly services: readonly string[]; readonly options: NodeLogOptions },
  deps: NodeLogDeps,
): Promise<void> {
  const headers = { ...TEXT_HEADERS, "content-type": "text/plain;charset=UTF-8" };
  if (call.exchange.method === "HEAD") return await call.exchange.reply(200, headers);
  const stream = call.exchange.replyStream(200, headers);
  const units = await knownUnits(deps.streamProgram, call.signal);
  const inJournal = services.filter((service) => units.has(`${service}.service`));
  if (inJournal.length > 0) await copyJournal(inJournal, options, { stream, deps, call });
  const inFiles = services.filter((service) => !inJournal.includes(service));
  if (inFiles.length > 0 && Object.keys(options).length > 0)
    await stream.write(
      `\noptions present and query resolved to log files for [${inFiles.join(" ")}]\ntry without specifying options\n`,
    );
  else for (const service of inFiles) await copyServiceFile(service, stream, deps);
  await stream.end();
}

/** Units with entries in the journal; none where there is no journal. */
async function knownUnits(
  streamProgram: StreamProgram,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const chunks: Uint8Array[] = [];
  const program = {
    path: "journalctl",
    args: ["--field=_SYSTEMD_UNIT"],
    timeoutMs: QUERY_MS,
    maxOutputBytes: MAX_UNITS_BYTES,
  };
  const collect = async (chunk: Uint8Array) => void chunks.push(chunk);
  const end = await streamProgram(program, collect, signal);
  if (end.kind !== "exited" || end.code !== 0) return new Set();
  return new Set(Buffer.concat(chunks).toString("utf8").split("\n"));
}

async function copyJournal(
  services: readonly string[],
  options: NodeLogOptions,
  to: { readonly stream: ReplyStream; readonly deps: NodeLogDeps; readonly call: Call },
): Promise<void> {
  const program = {
    path: "journalctl",
    args: journalArguments(services, options),
    timeoutMs: QUERY_MS,
    maxOutputBytes: MAX_QUERY_BYTES,
  };
  const { stream, deps, call } = to;
  const end = await deps.streamProgram(program, (chunk) => stream.write(chunk), call.signal);
  switch (end.kind) {
    case "exited":
      return;
    case "missing":
      return await stream.write("\nerror: journal output not available\n");
    case "tooLong":
      return await stream.write(`\nerror: cut off after ${MAX_QUERY_BYTES} bytes; set tailLines\n`);
    case "deadline":
      return await stream.write(`\nerror: cut off after ${QUERY_MS / 1000} s; set tailLines\n`);
    default:
      return end satisfies never;
  }
}

async function copyServiceFile(
  service: string,
  stream: ReplyStream,
  deps: NodeLogDeps,
): Promise<void> {
  for (const path of logFilesOf(service)) {
    try {
      await using file = await openLogFile(path, deps);
      if (!file) continue;
      const length = Math.min(await file.sizeBytes(), MAX_QUERY_BYTES);
      return await copyFile(file, { start: 0, length }, stream);
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      return await stream.write(`\nerror getting log for ${service}: ${error.message}`);
    }
  }
  await stream.write(`\nlog not found for ${service}\n`);
}
