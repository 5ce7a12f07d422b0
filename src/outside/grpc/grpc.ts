/**
 * Speaking gRPC over unix sockets, asking and being asked. Owns: connections. In: generated methods and
 * their messages. Out: answers, or `GrpcError` with the texts that gRPC for Go has. Invariants: a client
 * sends the authority `localhost`; a server takes any authority.
 */
import { type GrpcChannel, type GrpcTarget, openChannel } from "./channel.ts";
import { type GrpcListener, type GrpcListenOptions, listenGrpc } from "./server.ts";

export type { GrpcCallOptions, GrpcChannel, GrpcLink, GrpcMethod, GrpcTarget } from "./channel.ts";
export type {
  GrpcListener,
  GrpcListenOptions,
  ServedCall,
  ServedMethod,
  StreamAnswer,
  UnaryAnswer,
} from "./server.ts";
export { streamCall, unaryCall } from "./server.ts";
export { GRPC_STATUS, GrpcError, grpcStatusName, isUnimplemented } from "./status.ts";

/** The port; the simulation brings one without sockets. */
export interface Grpc {
  /** Opens a connection, which stands until it is closed. Returns at once. */
  connect(target: GrpcTarget): GrpcChannel;
  /** Listens on a unix socket. */
  listen(options: GrpcListenOptions): Promise<GrpcListener>;
}

/** gRPC of this machine. */
export function connectGrpc(): Grpc {
  return { connect: openChannel, listen: listenGrpc };
}
