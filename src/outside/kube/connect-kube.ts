import { askProgram } from "./credential-program.ts";
import { H2Transport, type TransportDeps } from "./transport/h2-transport.ts";
import type { Kube } from "./transport/transport.ts";

/** Connections to API servers over the network. */
export function connectKube(deps: TransportDeps): Kube {
  return { connect: (endpoint) => new H2Transport(endpoint, deps), askProgram };
}
