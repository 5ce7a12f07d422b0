import { grpcTimeout } from "../../kit/timing/bounded-durations.ts";
import { frameMessage, MessageReader } from "../grpc/messages.ts";
import { errorOfReply } from "../grpc/reply-status.ts";
import { GRPC_STATUS, GrpcError } from "../grpc/status.ts";
import { bounded, type HeldSockets } from "./bounded.ts";
import { dial, joinHostPort, PeerError } from "./dial.ts";
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus as STATES,
} from "./generated/health-v1/api.ts";
import { requestOnce, type SingleReply } from "./http2-request.ts";
import type { LaxTls } from "./lax-tls.ts";
import type { GrpcHealthAnswer, GrpcHealthRequest } from "./net.ts";

const CHECK_PATH = "/grpc.health.v1.Health/Check";

/** Request and answer are a few bytes; a peer that sends more is none we know. */
const MAX_MESSAGE_BYTES = 4096;

/** Between two attempts to connect within one probe (grpc-go's first back-off). */
const CONNECT_RETRY_MS = 1000;

interface Progress {
  stage: "connect" | "call";
  /** The part of connecting that is under way, in grpc-go's words. */
  connecting: "Error while dialing" | "authentication handshake failed";
  lastError: string | undefined;
}

/**
 * One `grpc.health.v1.Health/Check` over HTTP/2, dialling included in the one deadline. A peer
 * that cannot be connected to is tried again within it, as the Go kubelet's blocking dial does.
 */
export function grpcHealth(
  request: GrpcHealthRequest,
  tls: LaxTls,
  signal: AbortSignal,
): Promise<GrpcHealthAnswer> {
  const progress: Progress = {
    stage: "connect",
    connecting: "Error while dialing",
    lastError: undefined,
  };
  const startedAt = performance.now();
  const leftMs = () => request.timeoutMs - (performance.now() - startedAt);
  const onTimeout = () => timedOut(progress);
  return bounded<GrpcHealthAnswer>({ timeoutMs: request.timeoutMs, signal, onTimeout }, (held) =>
    untilConnected(request, held, { progress, leftMs, tls }),
  );
}

function timedOut(progress: Progress): GrpcHealthAnswer {
  const cause =
    progress.stage === "connect" && progress.lastError !== undefined
      ? `: connection error: desc = "transport: ${progress.lastError}"`
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
  {
    progress,
    leftMs,
    tls,
  }: { readonly progress: Progress; readonly leftMs: () => number; readonly tls: LaxTls },
): Promise<GrpcHealthAnswer> {
  for (;;) {
    try {
      return await check(request, held, { progress, tls });
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      if (progress.stage === "call") {
        return {
          kind: "failure",
          message: new GrpcError(GRPC_STATUS.Unavailable, error.message).message,
        };
      }
      progress.lastError = `${progress.connecting}: ${error.message}`;
      // No time for another attempt: the outcome is known now.
      if (leftMs() <= CONNECT_RETRY_MS) return timedOut(progress);
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}

async function check(
  request: GrpcHealthRequest,
  held: HeldSockets,
  { progress, tls }: { readonly progress: Progress; readonly tls: LaxTls },
): Promise<GrpcHealthAnswer> {
  progress.connecting = "Error while dialing";
  const raw = await dial(request.host, request.port, held);
  if (request.tls) progress.connecting = "authentication handshake failed";
  const socket = request.tls ? await tls.secure(raw, { ...request, protocols: ["h2"] }) : raw;
  const message = HealthCheckRequest.encode({ service: request.service }).finish();
  const reply = await requestOnce(socket, {
    headers: [
      [":method", "POST"],
      [":scheme", request.tls ? "https" : "http"],
      [":authority", joinHostPort(request.host, request.port)],
      [":path", CHECK_PATH],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ["user-agent", request.userAgent ?? "kube-probe"],
      ["grpc-timeout", grpcTimeout(request.timeoutMs)],
    ],
    body: frameMessage(message, MAX_MESSAGE_BYTES),
    maxBodyBytes: MAX_MESSAGE_BYTES,
    onReady: () => {
      progress.stage = "call";
    },
  });
  return answerOf(reply);
}

const NAMES = new Map(Object.entries(STATES).map(([name, value]) => [value, name])) as ReadonlyMap<
  number,
  keyof typeof STATES
>;

/**
 * The state in the body of an answer; numbers that are not in the protocol count as UNKNOWN. `undefined` when the body is no such
 * answer.
 */
export function healthStateOf(body: Uint8Array): keyof typeof STATES | undefined {
  try {
    const [message] = new MessageReader(MAX_MESSAGE_BYTES).push(body);
    return message && (NAMES.get(HealthCheckResponse.decode(message).status) ?? "UNKNOWN");
  } catch {
    return undefined;
  }
}

function answerOf(reply: SingleReply): GrpcHealthAnswer {
  const error = errorOfReply(reply);
  if (error === undefined) {
    const status = healthStateOf(reply.body);
    return status === undefined
      ? failure(GRPC_STATUS.Internal, "grpc: failed to unmarshal the received message")
      : { kind: "status", status };
  }
  if (error.status === GRPC_STATUS.Unimplemented)
    return { kind: "unimplemented", message: error.details };
  if (error.status === GRPC_STATUS.DeadlineExceeded)
    return { kind: "timeout", stage: "call", message: error.details };
  return { kind: "failure", message: error.message };
}

function failure(status: number, details: string): GrpcHealthAnswer {
  return { kind: "failure", message: new GrpcError(status, details).message };
}
