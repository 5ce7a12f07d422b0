// pure
/**
 * Words of the remote command protocols: the channels of `v5.channel.k8s.io` (apimachinery
 * pkg/util/httpstream/wsstream) and the status at a command's end (client-go tools/remotecommand/v4.go).
 */

/** Which streams of a command to open. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Channels of the WebSocket by stream. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** Stream of a command. */
export type StreamType = keyof typeof CHANNEL;

const CHANNELS = Object.keys(CHANNEL).length;
/** In place of a channel: the next byte names a channel on which nothing more comes. */
const CLOSE = 0xff;

/** A client's message, decoded. */
type ChannelMessage =
  | { readonly kind: "data"; readonly channel: number; readonly bytes: Uint8Array }
  | { readonly kind: "close"; readonly channel: number }
  | { readonly kind: "nothing" }
  | { readonly kind: "invalid"; readonly why: string };

/** Reads a message of `v5.channel.k8s.io`. Data on channels that do not exist mean nothing. */
export function readChannelMessage(message: Uint8Array): ChannelMessage {
  const [channel, closed] = message;
  if (channel === undefined) return { kind: "nothing" };
  if (channel !== CLOSE)
    return channel < CHANNELS
      ? { kind: "data", channel, bytes: message.subarray(1) }
      : { kind: "nothing" };
  if (closed === undefined || message.length !== 2)
    return { kind: "invalid", why: "one channel follows the signal to close" };
  if (closed >= CHANNELS) return { kind: "invalid", why: `there is no channel ${closed} to close` };
  return { kind: "close", channel: closed };
}

/** Streams in the order in which they are opened. */
export function streamsToOpen(requested: CommandStreams): readonly StreamType[] {
  return [
    "error",
    ...(requested.stdin ? (["stdin"] as const) : []),
    ...(requested.stdout ? (["stdout"] as const) : []),
    ...(requested.stderr && !requested.tty ? (["stderr"] as const) : []),
    ...(requested.tty ? (["resize"] as const) : []),
  ];
}

/** The first channel on which the client gets anything: an empty message there confirms the connection. */
export function firstOutput({ stdout, stderr }: CommandStreams): number {
  return stdout ? CHANNEL.stdout : stderr ? CHANNEL.stderr : CHANNEL.error;
}

/** The status that a client is sent for an error of ours or of the runtime (apierrors.NewInternalError). */
export function internalError(message: string): string {
  return JSON.stringify({
    metadata: {},
    status: "Failure",
    message: `Internal error occurred: ${message}`,
    reason: "InternalError",
    details: { causes: [{ message }] },
    code: 500,
  });
}

interface StatusText {
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: unknown };
}

/** The status that a client is sent for what the runtime wrote on its error stream; for nothing, success. */
export function finalStatus(text: string): string {
  if (text === "") return SUCCESS;
  let status: StatusText;
  try {
    status = JSON.parse(text) as StatusText;
  } catch {
    return internalError(`error stream protocol error: no status in ${JSON.stringify(text)}`);
  }
  if (status?.status === "Success") return SUCCESS;
  if (status?.status !== "Failure")
    return internalError("error stream protocol error: unknown error");
  if (status.reason !== "NonZeroExitCode") return internalError(String(status.message ?? ""));
  const causes = status.details?.causes;
  const all = Array.isArray(causes) ? (causes as { reason?: unknown; message?: unknown }[]) : [];
  const exitCode = all.find(({ reason }) => reason === "ExitCode")?.message;
  if (typeof exitCode !== "string" || !/^\d{1,3}$/.test(exitCode) || Number(exitCode) > 255)
    return internalError(
      `error stream protocol error: invalid exit code value ${JSON.stringify(exitCode ?? "")}`,
    );
  return JSON.stringify({
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: command terminated with exit code ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: exitCode }] },
  });
}

const SUCCESS = JSON.stringify({ metadata: {}, status: "Success" });
