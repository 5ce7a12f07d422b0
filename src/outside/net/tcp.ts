import { bounded } from "./bounded.ts";
import { connectTo, joinHostPort } from "./dial.ts";
import type { ConnectAnswer } from "./net.ts";

/** Connects and closes with a reset at once; the texts are those of Go's net.Dialer. */
export function tcpConnect(
  host: string,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ConnectAnswer> {
  const onTimeout = (): ConnectAnswer => ({
    kind: "timeout",
    message: `dial tcp ${joinHostPort(host, port)}: i/o timeout`,
  });
  return bounded<ConnectAnswer>({ timeoutMs, signal, onTimeout }, (held, answer) => {
    connectTo(host, port, held, {
      onConnect: () => answer({ kind: "connected" }),
      onDialError: ({ message }) => answer({ kind: "failure", message }),
    });
    return undefined;
  });
}
