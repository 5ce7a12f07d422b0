import { bounded } from "./bounded.ts";
import { connectTo, joinHostPort, PeerError } from "./dial.ts";
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
  return bounded<ConnectAnswer>(
    { timeoutMs, signal, onTimeout },
    (held) =>
      new Promise((resolve, reject) => {
        connectTo(host, port, held, {
          onConnect: () => resolve({ kind: "connected" }),
          onDialError: (error) => {
            if (error instanceof PeerError) resolve({ kind: "failure", message: error.message });
            else reject(error);
          },
        });
      }),
  );
}
