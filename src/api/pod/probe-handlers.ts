// pure
import type { Probe } from "../generated/types.ts";

/** Ways to make a probe: the members of one that hold an object. */
export type ProbeHandlerName = {
  [K in keyof Probe]-?: NonNullable<Probe[K]> extends object ? K : never;
}[keyof Probe];

/** Input of a probe handler. */
export type ProbeAction<K extends ProbeHandlerName> = NonNullable<Probe[K]>;

/** All handlers; of several in one probe the first is taken, as by the Go kubelet. */
const HANDLERS = {
  exec: true,
  httpGet: true,
  tcpSocket: true,
  grpc: true,
} as const satisfies Readonly<Record<ProbeHandlerName, true>>;

/** The handler of a probe; `undefined` is an error of the spec. */
export function probeHandlerOf(probe: Probe): ProbeHandlerName | undefined {
  return (Object.keys(HANDLERS) as ProbeHandlerName[]).find((name) => probe[name]);
}
