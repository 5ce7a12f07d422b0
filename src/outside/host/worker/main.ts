/**
 * The program of a file worker: makes system calls on files that the agent itself must not wait for, and ends
 * when the agent does. Requests are served in turn, or with `--side-by-side` all at once. Nothing here has a
 * deadline: the caller has one.
 */
import { readSync, writeSync } from "node:fs";
import { createSystemClock } from "../../../kit/clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { createMallocTrim, createProgramPageRelease, setV8Flags } from "../../memory/memory.ts";
import { createVolumeFiles } from "../files/create-volume-files.ts";
import { createFiles } from "../files/files.ts";
import { openFolderBeneath } from "../files/open-folder.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { describeFailure, type WorkerMessage, type WorkerRequest } from "./protocol.ts";
import { createQuickFiles, readDiskUsage } from "./quick-files.ts";
import { createOperations } from "./run-operation.ts";

/** Most requests fit; longer ones come in pieces. */
const READ_BYTES = 64 * 1024;
const [INPUT, OUTPUT] = [0, 1];

/** Progress is reported at most this often. */
const PROGRESS_EVERY_MS = 200;

function main(): void {
  /** Requests with progress come one at a time. */
  let latest = 0;
  let reportedAtMs = performance.now();
  const onProgress = () => {
    const now = performance.now();
    if (now - reportedAtMs < PROGRESS_EVERY_MS) return;
    reportedAtMs = now;
    send({ kind: "progress", id: latest });
  };
  const [trimMalloc, releaseProgramPages] = [createMallocTrim(), createProgramPageRelease()];
  const operations = createOperations({
    files: {
      ...createFiles({ clock: createSystemClock(), log: silentLog, onProgress }),
      ...createQuickFiles(),
    },
    volumes: createVolumeFiles(onProgress),
    diskUsage: readDiskUsage,
    openFolder: openFolderBeneath,
    onChange: (watch, change) => send({ kind: "changed", watch, change }),
    releaseMemory: () => {
      trimMalloc();
      releaseProgramPages();
    },
  });
  const serve = async ({ id, operation, args }: WorkerRequest) => {
    latest = id;
    reportedAtMs = performance.now();
    try {
      send({ kind: "done", id, value: await operations(operation, args) });
    } catch (thrown) {
      send({ kind: "failed", id, failure: describeFailure(thrown) });
    }
  };
  setV8Flags("worker");
  send({ kind: "ready" });
  if (process.argv.includes("--side-by-side")) serveSideBySide(serve);
  else void serveInTurn(serve);
}

/** The agent closes its end when it leaves or dies; results are of no use then. */
const leave = () => process.exit(0);

function send(message: WorkerMessage): void {
  const frame = encodeFrame(message);
  try {
    for (let at = 0; at < frame.length; ) at += writeSync(OUTPUT, frame, at);
  } catch {
    leave();
  }
}

/** Waits for each request in a system call of its own: streams would double what a request costs. */
async function serveInTurn(serve: (request: WorkerRequest) => Promise<void>): Promise<void> {
  const reader = new FrameReader();
  const buffer = Buffer.alloc(READ_BYTES);
  for (;;) {
    const length = readSync(INPUT, buffer);
    if (length === 0) return leave();
    // A copy: of a long request there are pieces to be kept.
    for (const request of reader.push(Buffer.from(buffer.subarray(0, length))))
      await serve(request as WorkerRequest);
  }
}

function serveSideBySide(serve: (request: WorkerRequest) => Promise<void>): void {
  const reader = new FrameReader();
  process.stdin.on("data", (piece: Buffer) => {
    for (const request of reader.push(piece)) void serve(request as WorkerRequest);
  });
  process.stdin.on("close", leave);
}

main();
