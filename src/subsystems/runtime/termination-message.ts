import { lastLogText } from "../../api/text/cri-log.ts";
import { byteLength } from "../../api/text/names.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import { within } from "../../kit/within.ts";
import type { ContainerStatus } from "../../outside/cri/cri.ts";
import { ContainerState } from "../../outside/cri/generated/api.ts";
import { TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY } from "./labels.ts";

/** Limits of termination messages (kubecontainer MaxContainerTerminationMessageLength and its log variant). */
const MESSAGE_MAX_BYTES = 4096;
const LOG_MESSAGE_MAX_BYTES = 2048;
const LOG_MESSAGE_MAX_LINES = 80;
/** Read of a log's end for the message; runtimes cut what a container writes into lines of up to 16 KiB. */
const LOG_TAIL_BYTES = 64 * 1024;
/** Time for reading one file: the end of the container waits for it, and a busy machine is not a hung one. */
const READ_WITHIN_MS = 5_000;
/** Parts of a path that follow the agent's root folder (`pods/UID/containers/NAME/FILE`), and the folder of logs (`POD/NAME/FILE`). */
const PARTS_IN_ROOT = 5;
const PARTS_IN_LOGS = 3;

/** A file that is reached from a trusted folder without following a link. */
interface UntrustedPlace {
  readonly root: string;
  readonly relativePath: string;
}

/** Last bytes of a file on the host; `undefined` when there is none. May throw, also for a link, and may hang. */
export type ReadTail = (
  place: UntrustedPlace,
  maxBytes: number,
  signal: AbortSignal,
) => Promise<string | undefined>;

interface MessageDeps {
  readonly clock: Clock;
  readonly readTail: ReadTail;
}

/**
 * The runtime's own message about an ended container and what the container left (kuberuntime
 * getTerminationMessage). The files are the pod's to write: whatever is in their place, the end of the
 * container is reported, and what cannot be read is reported with the Go kubelet's text. Rejects with the signal's
 * reason only.
 */
export async function terminationMessage(
  status: ContainerStatus,
  deps: MessageDeps,
  signal: AbortSignal,
): Promise<string> {
  if (status.state !== ContainerState.CONTAINER_EXITED) return "";
  const left =
    (await writtenMessage(status, deps, signal)) || (await logMessage(status, deps, signal));
  return [status.message, left].filter((text) => text !== "").join(": ");
}

async function writtenMessage(
  { annotations, mounts }: ContainerStatus,
  deps: MessageDeps,
  signal: AbortSignal,
): Promise<string> {
  const path = annotations[TERMINATION_MESSAGE_PATH] ?? "";
  const mount =
    path === "" ? undefined : mounts.find(({ containerPath }) => containerPath === path);
  if (!mount) return "";
  const place = placeOf(mount.hostPath, PARTS_IN_ROOT);
  const read = await readEnd(place, MESSAGE_MAX_BYTES, deps, signal);
  return read.kind === "read"
    ? read.text
    : `Error on reading termination log ${mount.hostPath}: ${read.problem}`;
}

async function logMessage(
  { annotations, exitCode, reason, logPath }: ContainerStatus,
  deps: MessageDeps,
  signal: AbortSignal,
): Promise<string> {
  const asked = annotations[TERMINATION_MESSAGE_POLICY] === "FallbackToLogsOnError";
  const failed = exitCode !== 0 || reason === "ContainerCannotRun";
  if (!asked || !failed || logPath === "") return "";
  const read = await readEnd(placeOf(logPath, PARTS_IN_LOGS), LOG_TAIL_BYTES, deps, signal);
  if (read.kind === "failed")
    return `Error on reading termination message from logs: ${read.problem}`;
  return lastLogText(read.text, {
    maxLines: LOG_MESSAGE_MAX_LINES,
    maxBytes: LOG_MESSAGE_MAX_BYTES,
    cut: byteLength(read.text) >= LOG_TAIL_BYTES,
  });
}

type Read =
  | { readonly kind: "read"; readonly text: string }
  | { readonly kind: "failed"; readonly problem: string };

/**
 * The last parts of a path as what pods can change: a container that can write to the agent's folder may put a link in the place
 * of each of them. What stands in front is the machine's own, and may be a link.
 */
function placeOf(path: string, parts: number): UntrustedPlace {
  const all = path.split("/");
  const at = Math.max(1, all.length - parts);
  return { root: all.slice(0, at).join("/") || "/", relativePath: all.slice(at).join("/") };
}

async function readEnd(
  place: UntrustedPlace,
  maxBytes: number,
  { clock, readTail }: MessageDeps,
  signal: AbortSignal,
): Promise<Read> {
  const path = `${place.root}/${place.relativePath}`;
  const limit = { clock, ms: READ_WITHIN_MS, what: `read ${path}: the file system` };
  try {
    const text = await within(limit, signal, (own) => readTail(place, maxBytes, own));
    return { kind: "read", text: text ?? "" };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "failed", problem: messageOf(error) };
  }
}
