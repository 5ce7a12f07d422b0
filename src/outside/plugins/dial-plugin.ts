import { until } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { within } from "../../kit/within.ts";
import type { GrpcChannel } from "../grpc/grpc.ts";

/** How long a plugin's socket is tried (the Go kubelet dials for 10 s). */
const DIAL_MS = 10_000;

/**
 * Waits until the channel is connected: a plugin may begin to listen only after its socket was found, or after it
 * has begun to register. Throws an `OutsideError` with `message` when it is not in time.
 */
export async function dialPlugin(
  channel: GrpcChannel,
  clock: Clock,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  await within({ clock, ms: DIAL_MS, message }, signal, (waits) =>
    until(channel.state, (link) => link === "ready", waits),
  );
}
