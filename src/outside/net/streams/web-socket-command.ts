/**
 * A command over a WebSocket (`v5.channel.k8s.io`), translated to SPDY for the runtime's streaming server, which
 * a WebSocket cannot report that standard input has ended (apiserver pkg/util/proxy/streamtranslator.go).
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { messageOf } from "../../../kit/errors.ts";
import {
  CHANNEL,
  type CommandStreams,
  finalStatus,
  firstOutput,
  internalError,
  readChannelMessage,
  type StreamType,
  streamsToOpen,
} from "./remote-command.ts";
import {
  encodeData,
  encodePing,
  encodeSynStream,
  SpdyDecoder,
  type SpdyFrame,
} from "./spdy-frames.ts";
import { closeWebSocket, letGo, messageBytes, sendFrom, writeFrom } from "./web-socket.ts";

/** The runtime's connection, once it speaks SPDY. */
export interface SpdyPeer {
  readonly socket: Duplex;
  readonly early: Buffer;
}

/** How long the runtime may take to accept the streams (remotecommand.DefaultStreamCreationTimeout). */
const OPEN_WITHIN_MS = 30_000;
/** Longest status of a command that is read. */
const MAX_STATUS_BYTES = 64 * 1024;
/** RFC 6455, 7.4.1 */
const CLOSE_PROTOCOL_ERROR = 1002;
const NOTHING = new Uint8Array(0);

interface Stream {
  readonly type: StreamType;
  readonly id: number;
  accepted: boolean;
  /** The runtime sends nothing more. */
  ended: boolean;
  /** We send nothing more. */
  closed: boolean;
}

/**
 * Runs the command over both connections. Resolves when the WebSocket is closed: by the client, or after the status
 * at the command's end was sent. What goes wrong on the runtime's side becomes that status.
 */
export function translateCommand(
  webSocket: WebSocket,
  requested: CommandStreams,
  dial: () => Promise<SpdyPeer>,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const cut = () => webSocket.terminate();
    const command = new TranslatedCommand(webSocket, requested);
    webSocket.on("error", cut);
    webSocket.once("close", () => {
      signal.removeEventListener("abort", cut);
      command.leave();
      resolve();
    });
    signal.addEventListener("abort", cut, { once: true });
    if (signal.aborted) cut();
    webSocket.send(Uint8Array.of(firstOutput(requested)), { binary: true });
    dial().then(
      (peer) => command.begin(peer),
      (error: unknown) => command.finish(internalError(messageOf(error))),
    );
  });
}

class TranslatedCommand {
  readonly #webSocket: WebSocket;
  readonly #streams: readonly Stream[];
  readonly #decoder = new SpdyDecoder();
  #socket: Duplex | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #status: Uint8Array[] = [];
  #statusBytes = 0;
  #finished = false;

  constructor(webSocket: WebSocket, requested: CommandStreams) {
    this.#webSocket = webSocket;
    this.#streams = streamsToOpen(requested).map((type, i) => ({
      type,
      id: 2 * i + 1,
      accepted: false,
      ended: false,
      closed: false,
    }));
  }

  begin({ socket, early }: SpdyPeer): void {
    this.#socket = socket;
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) {
      this.leave();
      return;
    }
    const lost = () =>
      this.finish(
        this.#statusBytes > 0
          ? this.#finalStatus()
          : internalError("the runtime's streaming server closed the connection"),
      );
    socket.on("error", (error) => this.finish(internalError(messageOf(error))));
    socket.once("end", lost);
    socket.once("close", lost);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#webSocket.on("message", (data) => this.#fromClient(messageBytes(data)));
    this.#timer = setTimeout(
      () => this.finish(internalError("timed out waiting for the runtime to accept the streams")),
      OPEN_WITHIN_MS,
    );
    for (const [i, { id, type }] of this.#streams.entries())
      socket.write(encodeSynStream(id, { streamtype: type }, i === 0));
    if (early.length > 0) this.#receive(early);
  }

  /** Sends the last word and closes; only the first counts. */
  finish(status: string): void {
    if (this.#finished) return;
    this.#finished = true;
    clearTimeout(this.#timer);
    this.#webSocket.send(framed(CHANNEL.error, Buffer.from(status)), { binary: true }, () =>
      closeWebSocket(this.#webSocket),
    );
    this.leave();
  }

  /** Lets go of the runtime's connection. */
  leave(): void {
    this.#finished = true;
    clearTimeout(this.#timer);
    if (this.#socket) letGo(this.#socket);
  }

  #receive(chunk: Uint8Array): void {
    for (const frame of this.#decoder.push(chunk)) {
      if (this.#finished) return;
      this.#take(frame);
    }
    this.#finishWhenEnded();
  }

  #take(frame: SpdyFrame): void {
    switch (frame.kind) {
      case "data":
        this.#takeData(frame.streamId, frame.bytes, frame.last);
        break;
      case "reply":
        this.#accept(frame.streamId, frame.last);
        break;
      case "reset":
        this.#endOf(frame.streamId, true);
        break;
      case "ping":
        this.#socket?.write(encodePing(frame.id));
        break;
      case "goAway":
        break;
      case "invalid":
        this.finish(internalError(`the runtime's streaming server sent ${frame.why}`));
        break;
      default:
        frame satisfies never;
    }
  }

  /** Bytes for a stream before it was accepted would be dropped: the client is read once all are accepted. */
  #accept(streamId: number, last: boolean): void {
    const stream = this.#streamOf(streamId);
    if (stream) stream.accepted = true;
    if (last) this.#endOf(streamId, false);
    if (this.#timer === undefined || !this.#streams.every(({ accepted }) => accepted)) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#webSocket.resume();
  }

  #takeData(streamId: number, bytes: Uint8Array, last: boolean): void {
    const stream = this.#streamOf(streamId);
    const socket = this.#socket;
    if (!stream || !socket) return;
    if (stream.type === "error") this.#takeStatus(bytes);
    else if (bytes.length > 0 && (stream.type === "stdout" || stream.type === "stderr"))
      sendFrom(socket, this.#webSocket, framed(CHANNEL[stream.type], bytes));
    if (last) this.#endOf(streamId, false);
  }

  #takeStatus(bytes: Uint8Array): void {
    this.#statusBytes += bytes.length;
    if (this.#statusBytes <= MAX_STATUS_BYTES) this.#status.push(Uint8Array.from(bytes));
    else
      this.finish(internalError(`the command's status is longer than ${MAX_STATUS_BYTES} bytes`));
  }

  #endOf(streamId: number, reset: boolean): void {
    const stream = this.#streamOf(streamId);
    if (!stream) return;
    stream.ended = true;
    if (reset) stream.closed = true;
  }

  /** The status is complete when its stream and those of the outputs have ended. */
  #finishWhenEnded(): void {
    const open = this.#streams.some(
      ({ type, ended }) => !ended && type !== "stdin" && type !== "resize",
    );
    if (!open) this.finish(this.#finalStatus());
  }

  #finalStatus(): string {
    return finalStatus(Buffer.concat(this.#status).toString("utf8"));
  }

  #fromClient(message: Uint8Array): void {
    if (this.#finished) return;
    const read = readChannelMessage(message);
    switch (read.kind) {
      case "data":
        this.#toRuntime(this.#inputOn(read.channel), read.bytes, false);
        break;
      case "close":
        this.#toRuntime(this.#inputOn(read.channel), NOTHING, true);
        break;
      case "nothing":
        break;
      case "invalid":
        closeWebSocket(this.#webSocket, CLOSE_PROTOCOL_ERROR, read.why);
        this.leave();
        break;
      default:
        read satisfies never;
    }
  }

  #toRuntime(stream: Stream | undefined, bytes: Uint8Array, last: boolean): void {
    if (!stream || stream.closed || !this.#socket) return;
    stream.closed = last;
    writeFrom(this.#webSocket, this.#socket, encodeData(stream.id, bytes, last));
  }

  #inputOn(channel: number): Stream | undefined {
    return this.#streams.find(
      ({ type }) => CHANNEL[type] === channel && (type === "stdin" || type === "resize"),
    );
  }

  #streamOf(id: number): Stream | undefined {
    return this.#streams.find((stream) => stream.id === id);
  }
}

function framed(channel: number, bytes: Uint8Array): Uint8Array {
  const message = new Uint8Array(bytes.length + 1);
  message[0] = channel;
  message.set(bytes, 1);
  return message;
}
