import { askProgram } from "./credential-program.ts";
import { H2Transport, type TransportDeps } from "./h2-transport.ts";
import type { Kube } from "./transport.ts";

/** Connections to API servers over the network. */
export function connectKube(deps: TransportDeps): Kube {
  return { connect: (endpoint) => new H2Transport(endpoint, deps), askProgram };
}
