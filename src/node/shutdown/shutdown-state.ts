import { nanosFromWall, parseTimestamp, rfc3339Nano } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { isTree } from "../../kit/json.ts";
import type { DecodedState, StateFile, StateFiles } from "../../kit/state/state-files.ts";

/** The last graceful shutdown of the node, as it is kept for the time after it. */
export interface ShutdownTimes {
  readonly startedAt: WallMs;
  /** Absent while it lasts, and of one that the machine did not wait for. */
  readonly endedAt?: WallMs;
}

const MAX_BYTES = 4096;
const MODE = 0o644;
/** Go's zero time. */
const NEVER = "0001-01-01T00:00:00Z";

/** Keeps the times of the last shutdown in the Go kubelet's file and format (nodeshutdown/storage.go). */
export class ShutdownState {
  readonly #file: StateFile;
  readonly #state: StateFiles;

  /** `path` as `deriveRootLayout(…).state.gracefulShutdown`. */
  constructor(path: string, state: StateFiles) {
    this.#state = state;
    this.#file = {
      name: "graceful_shutdown",
      path,
      holds: "when the node was last shut down gracefully",
      important: true,
    };
  }

  /** Reads the stored times; `undefined` when there was no shutdown. */
  read(): Promise<ShutdownTimes | undefined> {
    return this.#state.read(this.#file, MAX_BYTES, decodeTimes);
  }

  /** Replaces what is kept. What cannot be written is reported as every state file is, and does not hold up a shutdown. */
  async write({ startedAt, endedAt }: ShutdownTimes): Promise<void> {
    const endTime = endedAt === undefined ? NEVER : timeText(endedAt);
    const text = JSON.stringify({ startTime: timeText(startedAt), endTime });
    await this.#state.write(this.#file, text, MODE).catch(() => {});
  }
}

function timeText(wall: WallMs): string {
  return rfc3339Nano(nanosFromWall(wall));
}

function decodeTimes(text: string): DecodedState<ShutdownTimes | undefined> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return { kind: "broken", why: "it is not valid JSON" };
  }
  if (!isTree(content)) return { kind: "broken", why: "it is not an object" };
  const startedAt = timeOf(content["startTime"]);
  const endedAt = timeOf(content["endTime"]);
  if (startedAt === "broken" || endedAt === "broken")
    return { kind: "broken", why: "startTime or endTime is no RFC 3339 time" };
  if (startedAt === undefined) return { kind: "read", value: undefined };
  return { kind: "read", value: { startedAt, ...(endedAt === undefined ? {} : { endedAt }) } };
}

function timeOf(value: unknown): WallMs | undefined | "broken" {
  if (value === undefined || value === NEVER) return undefined;
  return (typeof value === "string" ? parseTimestamp(value) : undefined) ?? "broken";
}
