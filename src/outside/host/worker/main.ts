/**
 * The program of a file worker: makes system calls on files that the agent itself must not wait for, one
 * request after the other, and ends when the agent does. Nothing here has a deadline: whoever asked has one.
 */
import { createSystemClock } from "../../../kit/clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { createVolumeFiles } from "../create-volume-files.ts";
import { readDiskUsage } from "../disk.ts";
import { createFiles } from "../files.ts";
import { openFolderBeneath } from "../open-folder.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { describeFailure, type WorkerMessage, type WorkerRequest } from "./protocol.ts";
import { createOperations } from "./run-operation.ts";

/** Progress is told at most this often. */
const PROGRESS_EVERY_MS = 200;

function main(): void {
  /** Requests with progress come one at a time. */
  let latest = 0;
  let toldAtMs = performance.now();
  const send = (message: WorkerMessage) => void process.stdout.write(encodeFrame(message));
  const onProgress = () => {
    const now = performance.now();
    if (now - toldAtMs < PROGRESS_EVERY_MS) return;
    toldAtMs = now;
    send({ kind: "progress", id: latest });
  };
  const operations = createOperations({
    files: createFiles({ clock: createSystemClock(), log: silentLog, onProgress }),
    volumes: createVolumeFiles(onProgress),
    diskUsage: readDiskUsage,
    openFolder: openFolderBeneath,
    onChange: (watch, change) => send({ kind: "changed", watch, change }),
  });
  const serve = async ({ id, operation, args }: WorkerRequest) => {
    latest = id;
    toldAtMs = performance.now();
    try {
      send({ kind: "done", id, value: await operations(operation, args) });
    } catch (thrown) {
      send({ kind: "failed", id, failure: describeFailure(thrown) });
    }
  };
  const reader = new FrameReader();
  process.stdin.on("data", (piece: Buffer) => {
    for (const request of reader.push(piece)) void serve(request as WorkerRequest);
  });
  // The agent is gone: what was begun is of no use to anybody.
  process.stdin.on("close", () => process.exit(0));
  process.stdout.on("error", () => process.exit(0));
}

main();
