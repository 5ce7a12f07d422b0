import type { Socket } from "node:net";
import { onAbort } from "../../kit/on-abort.ts";
import { deadline } from "./deadlines.ts";

/**
 * Sockets of one exchange. Whatever ends the exchange (an answer, the deadline, the caller), all of
 * them are closed with a reset, so that none is left in TIME_WAIT on the node.
 */
export class HeldSockets {
  readonly #sockets: Socket[] = [];
  #released = false;

  /** Tracks a socket, whose errors are handled elsewhere; one that comes after the end is destroyed at once. */
  add(socket: Socket): void {
    if (this.#released) reset(socket);
    else this.#sockets.push(socket);
  }

  /** Gives the peer of a finished exchange the chance to close first, then resets. */
  leave(socket: Socket): void {
    const at = this.#sockets.indexOf(socket);
    if (at >= 0) this.#sockets.splice(at, 1);
    resetAfterPeer(socket);
  }

  release(): void {
    this.#released = true;
    for (const socket of this.#sockets) reset(socket);
    this.#sockets.length = 0;
  }
}

/** How long a peer that was asked to close may take; most do it at once. */
const PEER_CLOSES_WITHIN_MS = 100;

/**
 * Many servers log a reset that hits them before they have closed. All were asked to
 * (`Connection: close`), so the reset waits a moment for their FIN.
 */
function resetAfterPeer(socket: Socket): void {
  const cut = () => {
    cancel();
    reset(socket);
  };
  const cancel = deadline(PEER_CLOSES_WITHIN_MS, cut);
  if (socket.readableEnded || socket.destroyed) {
    cut();
    return;
  }
  socket.once("end", cut);
  // A reader below the stream (`connectTo`) sees further bytes itself.
  if (socket.readableFlowing === null) return;
  socket.once("data", cut);
  socket.resume();
}

/** Closes a socket without leaving a trace of the connection on the node. */
export function reset(socket: Socket): void {
  // One that is still connecting would be reset only after it has connected.
  if (socket.connecting) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}

/** The limits of one exchange. */
export interface Bound<T> {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The answer when the time is over. */
  readonly onTimeout: () => T;
}

/**
 * Runs `work` under one deadline for all of it. Rejects with the signal's reason when the caller leaves, and
 * with what `work` rejects with; in every case the sockets are closed.
 */
export function bounded<T>(bound: Bound<T>, work: (held: HeldSockets) => Promise<T>): Promise<T> {
  const { signal } = bound;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const held = new HeldSockets();
    const end = () => {
      cancel();
      forget();
      held.release();
    };
    const answer = (value: T) => {
      end();
      resolve(value);
    };
    const fail = (error: unknown) => {
      end();
      reject(error as Error);
    };
    const cancel = deadline(bound.timeoutMs, () => answer(bound.onTimeout()));
    const forget = onAbort(signal, () => fail(signal.reason));
    work(held).then(answer, fail);
  });
}
