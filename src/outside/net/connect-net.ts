import { grpcHealth } from "./grpc-health.ts";
import { httpGet } from "./http.ts";
import type { Net } from "./net.ts";
import { tcpConnect } from "./tcp.ts";

/** The network of the machine. Keeps nothing between calls. */
export function connectNet(): Net {
  return { http: httpGet, tcpConnect, grpcHealth };
}
