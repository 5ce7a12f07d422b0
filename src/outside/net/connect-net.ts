import { grpcHealth } from "./grpc-health.ts";
import { httpGet } from "./http.ts";
import type { Net } from "./net.ts";
import { createTcpConnect } from "./tcp.ts";

/** The network of the machine. Keeps nothing of one call for another. */
export function connectNet(): Net {
  return { http: httpGet, tcpConnect: createTcpConnect(), grpcHealth };
}
