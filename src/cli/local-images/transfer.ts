/** Images into the runtime and out of it: from archives, from registries, into archives. */
import { spawn } from "node:child_process";
import { type Readable, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isOutside, plainMessageOf } from "../../kit/errors.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { ContentDownload } from "../../outside/cri/connect-cri.ts";
import type { PullCredentials } from "../../outside/cri/cri.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NOT_FOUND } from "../../present/exit-codes.ts";
import { lastLine } from "../../present/text.ts";
import { findProgram } from "../../process/programs.ts";
import { programVersion } from "../../process/runtime-versions/program-version.ts";
import { isContainerd2 } from "../../process/runtime-versions/series.ts";
import type { Progress } from "../progress.ts";
import { type RuntimeConnection, withRuntime } from "../runtime/query-runtime.ts";
import { archiveStream, type ImageArchive } from "./read-archive.ts";

/** The runtime, and the progress callback. */
export interface TransferTarget {
  readonly socket: string;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** An image that the runtime has. */
export interface StoredImage {
  readonly name: string;
  /** Digest of its configuration. */
  readonly id: string;
  readonly sizeBytes: number;
}

/** Pause between two requests for what is downloaded. */
const PROGRESS_MS = 300;
/** Pause between two requests for an image that was imported or pulled. */
const POLL_MS = 50;
/** How long the runtime may take to list what was imported. */
const NOTICE_MS = 10_000;
const TAIL_CHARACTERS = 4_000;

/** Imports the images of an archive; resolves with them once the runtime lists them. */
export async function loadImages(
  archive: ImageArchive,
  { signal, socket, onProgress }: TransferTarget,
): Promise<readonly StoredImage[]> {
  const counted = meter(archive.sizeBytes, onProgress);
  const content: ImportedContent = {
    names: archive.names,
    parts: [archiveStream(archive), counted],
  };
  return await importImages(content, socket, signal);
}

/** A docker or OCI archive, as streams from its bytes to what is imported. */
interface ImportedContent {
  /** Of the images in it. */
  readonly names: readonly string[];
  readonly parts: readonly [Readable, ...Transform[]];
}

/**
 * Imports an archive with containerd's own client; resolves once the runtime lists its images. Throws `CliError` in
 * containerd's words.
 */
export async function importImages(
  { names, parts }: ImportedContent,
  socket: string,
  signal: AbortSignal = NEVER_ABORTED,
): Promise<readonly StoredImage[]> {
  const ctr = startCtr(socket, ["images", "import", "-"], signal);
  ctr.stdout.resume();
  const [fed, ended] = await Promise.allSettled([pipeline([...parts, ctr.stdin]), ctr.ended]);
  signal.throwIfAborted();
  if (ended.status === "rejected") throw ended.reason;
  if (fed.status === "rejected") throw fed.reason;
  return await withRuntime(socket, async (cri) => {
    const found: StoredImage[] = [];
    for (const name of names) found.push(await untilListed(cri, name, signal));
    return found;
  });
}

async function untilListed(
  cri: RuntimeConnection,
  name: string,
  signal: AbortSignal,
): Promise<StoredImage> {
  const deadline = performance.now() + NOTICE_MS;
  for (;;) {
    const image = await storedImage(cri, name, signal);
    if (image !== undefined) return image;
    if (performance.now() > deadline)
      throw new CliError(`the runtime does not list the imported image ${name}`, {
        fix: "is it an image for this machine's architecture? `nodelet images` lists what is there",
      });
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function storedImage(
  cri: RuntimeConnection,
  name: string,
  signal: AbortSignal,
): Promise<StoredImage | undefined> {
  const image = await cri.images.imageStatus(name, signal);
  return image && { name, id: image.id, sizeBytes: Number(image.size) };
}

/** Writes images as an OCI archive that docker can load too. Throws `CliError` for an unknown one. */
export async function saveImages(
  names: readonly string[],
  output: Writable,
  { socket, onProgress, signal }: TransferTarget,
): Promise<void> {
  const full = await withRuntime(socket, async (cri) => {
    const found: string[] = [];
    for (const name of names) {
      const image = await cri.images.imageStatus(name, signal);
      const [first] = image?.repoTags ?? [];
      const chosen = image?.repoTags.includes(name) ? name : (first ?? image?.repoDigests[0]);
      if (chosen === undefined)
        throw new CliError(`image ${name} not found`, {
          exitCode: EXIT_NOT_FOUND,
          fix: "nodelet images lists the images on the node",
        });
      found.push(chosen);
    }
    return found;
  });
  const way = await exportOptions();
  const ctr = startCtr(socket, ["images", "export", ...way, "-", ...full], signal);
  ctr.stdin.end();
  await Promise.all([pipeline(ctr.stdout, meter(0, onProgress), output), ctr.ended]);
}

/** The ctr of containerd 2 writes its progress to standard output as well, unless it does the work itself. */
async function exportOptions(): Promise<readonly string[]> {
  const version = await programVersion("containerd", findProgram("ctr"));
  return isContainerd2(version) ? ["--local"] : [];
}

/**
 * Pulls an image through CRI, so that the runtime's own settings of registries hold; `logins` are tried in turn.
 * Resolves with the image. Throws `CliError` in the runtime's words.
 */
export async function pullImage(
  name: string,
  logins: readonly PullCredentials[],
  target: TransferTarget,
): Promise<StoredImage> {
  const { socket, signal } = target;
  return await withRuntime(socket, async (cri) => {
    const over = new AbortController();
    const following = followDownloads(cri, target, AbortSignal.any([signal, over.signal]));
    try {
      await pullWithAny(cri, name, logins, signal);
    } finally {
      over.abort();
      await following;
    }
    return await untilListed(cri, name, signal);
  });
}

async function pullWithAny(
  cri: RuntimeConnection,
  name: string,
  logins: readonly PullCredentials[],
  signal: AbortSignal,
): Promise<void> {
  const tries = logins.length === 0 ? [undefined] : logins;
  for (const [i, login] of tries.entries()) {
    const auth = login && { ...login, serverAddress: "" };
    try {
      await cri.images.pullImage(
        { image: name, annotations: {}, ...(auth ? { auth } : {}) },
        signal,
      );
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (i + 1 === tries.length)
        throw new CliError(`failed to pull image ${name}: ${plainMessageOf(error)}`, {
          cause: error,
        });
    }
  }
}

/** Adds up what the runtime downloads, until the signal is aborted. */
async function followDownloads(
  cri: RuntimeConnection,
  { onProgress }: TransferTarget,
  signal: AbortSignal,
): Promise<void> {
  const seen = new Map<string, ContentDownload>();
  while (!signal.aborted) {
    try {
      const now = await cri.downloads(signal);
      noteDownloads(seen, now);
      if (seen.size > 0) onProgress(sumOf(seen));
    } catch (error) {
      // Another runtime has no such service: the pull goes on without a bar.
      if (!isOutside(error)) return;
      if (isOutside(error, "unimplemented")) return;
    }
    await sleep(PROGRESS_MS, undefined, { signal }).catch(() => {});
  }
}

/** Downloads that are no longer active are complete. */
function noteDownloads(seen: Map<string, ContentDownload>, now: readonly ContentDownload[]): void {
  const active = new Set(now.map(({ ref }) => ref));
  for (const [ref, { totalBytes, doneBytes }] of seen)
    if (!active.has(ref)) {
      const whole = Math.max(totalBytes, doneBytes);
      seen.set(ref, { ref, doneBytes: whole, totalBytes: whole });
    }
  for (const download of now) seen.set(download.ref, download);
}

function sumOf(seen: ReadonlyMap<string, ContentDownload>): Progress {
  let doneBytes = 0;
  let totalBytes = 0;
  for (const download of seen.values()) {
    doneBytes += download.doneBytes;
    totalBytes += download.totalBytes;
  }
  return { doneBytes, totalBytes };
}

/** Counts what passes. */
function meter(totalBytes: number, onProgress: (progress: Progress) => void): Transform {
  let doneBytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _, done) {
      doneBytes += chunk.length;
      onProgress({ doneBytes, totalBytes });
      done(null, chunk);
    },
  });
}

/** Starts containerd's own client, which speaks to its content store. Both its streams must be read. */
function startCtr(socket: string, words: readonly string[], signal: AbortSignal) {
  const ctr = findProgram("ctr");
  if (ctr === undefined)
    throw new CliError("ctr not found; it is part of containerd", {
      fix: "apt-get install containerd, or your distribution's equivalent",
    });
  const argv = ["--address", socket, "--namespace", "k8s.io", ...words];
  const child = spawn(ctr, argv, { stdio: ["pipe", "pipe", "pipe"], signal });
  let reported = "";
  child.stderr.on("data", (chunk: Buffer) => {
    reported = (reported + chunk.toString("utf8")).slice(-TAIL_CHARACTERS);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      if (code === 0) return resolve();
      const why = lastLine(reported).replace(/^ctr: /, "") || `ctr ended with ${code ?? killedBy}`;
      reject(new CliError(`containerd refused: ${why}`));
    });
  });
  return { stdin: child.stdin, stdout: child.stdout, ended };
}
