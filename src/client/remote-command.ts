/** A command in a container, over a WebSocket with Kubernetes' channel protocol. */
import type { WebSocket } from "ws";
import { CliError } from "../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_NOT_FOUND, EXIT_OK } from "../present/exit-codes.ts";
import { connectError, replyRefusalText } from "./agent-client.ts";
import type { TerminalStreams } from "./terminal-streams.ts";

/** A command to run, and its streams. */
interface RemoteCommand {
  readonly socketPath: string;
  /** Path and query of the request. */
  readonly path: string;
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** The first byte of every message (v4.channel.k8s.io, v5.channel.k8s.io). */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The newer one can also signal the end of standard input; without its gate the runtime chooses. */
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const WITH_CLOSE = "v5.channel.k8s.io";

/** Input beyond this waits until it is sent. */
const MAX_UNSENT_BYTES = 1024 * 1024;
const DRAIN_POLL_MS = 10;
const MAX_REFUSAL_BYTES = 4096;

/** Runs the command with the streams of `io`; resolves with its exit code. */
export async function runRemote(command: RemoteCommand, io: TerminalStreams): Promise<number> {
  const socket = await connect(command);
  const restore = command.tty && command.stdin ? makeRaw(io) : () => {};
  const stopResizing = command.tty ? followSize(socket, io) : () => {};
  const stopInput = command.stdin ? sendInput(socket, io) : () => {};
  try {
    return await receive(socket, io);
  } finally {
    stopInput();
    stopResizing();
    restore();
    socket.terminate();
  }
}

async function connect({ socketPath, path }: RemoteCommand): Promise<WebSocket> {
  // Other commands do without it.
  const webSockets = await import("ws");
  const socket = new webSockets.WebSocket(`ws+unix:${socketPath}:${path}`, PROTOCOLS, {
    perMessageDeflate: false,
  });
  return await new Promise((resolve, reject) => {
    socket.once("open", () => {
      socket.pause();
      resolve(socket);
    });
    socket.once("unexpected-response", (_, response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => {
        if (Buffer.concat(chunks).length < MAX_REFUSAL_BYTES) chunks.push(chunk);
      });
      response.once("close", () => {
        const message = replyRefusalText(Buffer.concat(chunks).toString("utf8"));
        const { statusCode } = response;
        reject(
          new CliError(message === "" ? `the command was refused: HTTP ${statusCode}` : message, {
            exitCode: statusCode === 404 ? EXIT_NOT_FOUND : EXIT_FAILURE,
          }),
        );
      });
    });
    socket.once("error", (error: NodeJS.ErrnoException) => reject(connectError(error, socketPath)));
  });
}

/** Passes what comes on to the outputs until the command has ended. */
async function receive(socket: WebSocket, io: TerminalStreams): Promise<number> {
  let status: string | undefined;
  let failure: Error | undefined;
  socket.on("message", (message: Buffer) => {
    const content = message.subarray(1);
    if (message[0] === CHANNEL.stdout) io.stdout.write(content);
    else if (message[0] === CHANNEL.stderr) io.stderr.write(content);
    else if (message[0] === CHANNEL.error && content.length > 0) {
      status = (status ?? "") + content.toString("utf8");
    }
  });
  socket.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  socket.resume();
  await closed;
  if (status !== undefined) return exitCodeOf(status);
  throw new CliError(
    `the connection broke before the command ended${failure ? `: ${failure.message}` : ""}`,
  );
}

/** The exit code in the Status that ends a command; throws when it could not be run. */
export function exitCodeOf(text: string): number {
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch {
    throw new CliError(text.trim());
  }
  if (status.status === "Success") return EXIT_OK;
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const code = Number(cause?.message);
  if (cause !== undefined && Number.isInteger(code)) return code;
  throw new CliError(status.message ?? "the command could not be run");
}

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly message?: string }[];
  };
}

/** Sends standard input as long as there is some, no faster than it is taken. */
function sendInput(socket: WebSocket, { stdin, stderr }: TerminalStreams): () => void {
  let timer: NodeJS.Timeout | undefined;
  const whenSent = () => {
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) timer = setTimeout(whenSent, DRAIN_POLL_MS);
    else stdin.resume();
  };
  const onData = (chunk: Buffer) => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(Buffer.concat([Buffer.of(CHANNEL.stdin), chunk]));
    if (socket.bufferedAmount <= MAX_UNSENT_BYTES) return;
    stdin.pause();
    whenSent();
  };
  const onEnd = () => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.protocol === WITH_CLOSE) socket.send(Buffer.of(CHANNEL.close, CHANNEL.stdin));
    else {
      stderr.write(
        "nodelet: this runtime does not support closing standard input; a command that reads to the end waits\n",
      );
    }
  };
  stdin.on("data", onData);
  stdin.once("end", onEnd);
  return () => {
    clearTimeout(timer);
    stdin.off("data", onData);
    stdin.off("end", onEnd);
    stdin.pause();
  };
}

/** Passes every key on as it is; the result undoes it. */
function makeRaw({ stdin }: TerminalStreams): () => void {
  stdin.setRawMode?.(true);
  return () => {
    stdin.setRawMode?.(false);
  };
}

/** Sends the terminal size, now and whenever it changes. */
function followSize(socket: WebSocket, { stdout }: TerminalStreams): () => void {
  const send = () => {
    const { columns, rows } = stdout;
    if (columns === undefined || rows === undefined || socket.readyState !== socket.OPEN) return;
    const size = JSON.stringify({ Width: columns, Height: rows });
    socket.send(Buffer.concat([Buffer.of(CHANNEL.resize), Buffer.from(size)]));
  };
  send();
  stdout.on("resize", send);
  return () => {
    stdout.off("resize", send);
  };
}
