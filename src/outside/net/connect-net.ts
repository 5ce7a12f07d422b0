import { grpcHealth } from "./grpc-health.ts";
import { HttpClient } from "./http.ts";
import type { Net } from "./net.ts";
import { createTcpConnect } from "./tcp.ts";

/** The network of the machine. Keeps nothing of one call for another. */
export function connectNet(): Net {
  const client = new HttpClient();
  return {
    http: (exchange, signal) => client.get(exchange, signal),
    tcpConnect: createTcpConnect(),
    grpcHealth,
  };
}
