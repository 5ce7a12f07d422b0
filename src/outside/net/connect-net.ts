import { grpcHealth } from "./grpc-health.ts";
import { HttpClient } from "./http.ts";
import { LaxTls } from "./lax-tls.ts";
import type { Net } from "./net.ts";
import { createTcpConnect } from "./tcp.ts";

/** The network of the machine. Keeps nothing of one call for another. */
export function connectNet(): Net {
  const tls = new LaxTls();
  const client = new HttpClient(tls);
  return {
    http: (exchange, signal) => client.get(exchange, signal),
    tcpConnect: createTcpConnect(),
    grpcHealth: (request, signal) => grpcHealth(request, tls, signal),
  };
}
