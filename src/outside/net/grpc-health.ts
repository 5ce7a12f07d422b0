import { errorOfReply, GrpcError } from "../grpc/channel.ts";
import { bounded, type HeldSockets } from "./bounded.ts";
import { dial, joinHostPort, PeerError } from "./dial.ts";
import { type H2Reply, requestH2 } from "./h2.ts";
import { decodeHealthStatus, encodeHealthRequest } from "./health-codec.ts";
import type { GrpcHealthAnswer, GrpcHealthRequest } from "./net.ts";

const CHECK_PATH = "/grpc.health.v1.Health/Check";

/** The answer is a few bytes; a peer that sends more is none we know. */
const MAX_ANSWER_BYTES = 4096;

/** Between two attempts to connect within one probe (grpc-go's first back-off). */
const CONNECT_RETRY_MS = 1000;

interface Progress {
  stage: "connect" | "call";
  lastError: string | undefined;
}

/**
 * One `grpc.health.v1.Health/Check` over plaintext HTTP/2, dialling included in the one deadline. A peer
 * that cannot be connected to is tried again within it, as the Go kubelet's blocking dial does.
 */
export function grpcHealth(
  request: GrpcHealthRequest,
  signal: AbortSignal,
): Promise<GrpcHealthAnswer> {
  const progress: Progress = { stage: "connect", lastError: undefined };
  const startedAt = performance.now();
  const leftMs = () => request.timeoutMs - (performance.now() - startedAt);
  const onTimeout = () => timedOut(progress);
  return bounded<GrpcHealthAnswer>({ timeoutMs: request.timeoutMs, signal, onTimeout }, (held) =>
    untilConnected(request, held, { progress, leftMs }),
  );
}

function timedOut(progress: Progress): GrpcHealthAnswer {
  const cause =
    progress.stage === "connect" && progress.lastError !== undefined
      ? `: connection error: desc = "transport: Error while dialing: ${progress.lastError}"`
      : "";
  return {
    kind: "timeout",
    stage: progress.stage,
    message: `context deadline exceeded${cause}`,
  };
}

async function untilConnected(
  request: GrpcHealthRequest,
  held: HeldSockets,
  { progress, leftMs }: { readonly progress: Progress; readonly leftMs: () => number },
): Promise<GrpcHealthAnswer> {
  for (;;) {
    try {
      return await check(request, held, progress);
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      if (progress.stage === "call") {
        return { kind: "failure", message: new GrpcError(14, error.message).message };
      }
      progress.lastError = error.message;
      // No time for another attempt: the outcome is known now.
      if (leftMs() <= CONNECT_RETRY_MS) return timedOut(progress);
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}

async function check(
  request: GrpcHealthRequest,
  held: HeldSockets,
  progress: Progress,
): Promise<GrpcHealthAnswer> {
  const socket = await dial(request.host, request.port, held);
  const reply = await requestH2(socket, {
    scheme: "http",
    headers: {
      ":method": "POST",
      ":path": CHECK_PATH,
      ":authority": joinHostPort(request.host, request.port),
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": request.userAgent ?? "kube-probe",
      "grpc-timeout": `${Math.max(1, Math.round(request.timeoutMs))}m`,
    },
    body: frame(encodeHealthRequest(request.service)),
    maxBodyBytes: MAX_ANSWER_BYTES,
    onReady: () => {
      progress.stage = "call";
    },
  });
  progress.stage = "call";
  return answerOf(reply);
}

function frame(message: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

function answerOf(reply: H2Reply): GrpcHealthAnswer {
  const { headers, trailers } = reply;
  const error = errorOfReply({ status: headers[":status"] ?? 0, headers, trailers });
  if (error === undefined) {
    const status = decodeHealthStatus(reply.body);
    return status === undefined
      ? failure(INTERNAL, "grpc: failed to unmarshal the received message")
      : { kind: "status", status };
  }
  if (error.status === UNIMPLEMENTED) return { kind: "unimplemented", message: error.details };
  if (error.status === DEADLINE_EXCEEDED) {
    return { kind: "timeout", stage: "call", message: error.details };
  }
  return { kind: "failure", message: error.message };
}

function failure(status: number, details: string): GrpcHealthAnswer {
  return { kind: "failure", message: new GrpcError(status, details).message };
}
