import type { Clock } from "../kit/clock.ts";
import { createSystemClock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { createSystemRandom } from "../kit/random.ts";
import { type ConnectedRuntime, connectCri } from "./cri/connect-cri.ts";
import { connectGrpc } from "./grpc/grpc.ts";
import { connectHost } from "./host/connect-host.ts";
import { connectKube } from "./kube/connect-kube.ts";
import type { Kube } from "./kube/kube.ts";
import { connectNet } from "./net/connect-net.ts";
import type { Outside } from "./outside.ts";
import { connectServing } from "./serving.ts";

/** Where the container runtime is. */
export interface ConnectOptions {
  /** `unix:///path` of the CRI runtime. */
  readonly runtimeEndpoint: string;
  /** Of its image service, when it is another one. */
  readonly imageEndpoint: string;
  /** Deadline of ordinary CRI calls. */
  readonly runtimeTimeoutMs: number;
  /** How requests to API servers present themselves; default `nodelet`. */
  readonly userAgent?: string;
}

/** The real outside: this machine, its runtime, its network. */
export interface ConnectedOutside extends Outside {
  readonly kube: Kube;
  readonly cri: ConnectedRuntime;
  close(): void;
}

/** Connects to the machine; returns at once, the runtime connects by itself. */
export function connectOutside(options: ConnectOptions, log: Log): ConnectedOutside {
  const clock: Clock = createSystemClock();
  const cri = connectCri({
    runtimeEndpoint: options.runtimeEndpoint,
    imageEndpoint: options.imageEndpoint,
    timeoutMs: options.runtimeTimeoutMs,
  });
  const serving = connectServing();
  const random = createSystemRandom();
  const { userAgent = "nodelet" } = options;
  return {
    clock,
    random,
    log,
    kube: connectKube({ clock, random, log: log.child("kube"), userAgent }),
    host: connectHost({ clock, log: log.child("host") }),
    cri,
    net: connectNet(),
    grpc: connectGrpc(),
    serving,
    close: () => {
      serving.close();
      cri.close();
    },
  };
}

/** The machine alone, for programs that only look at it or prepare it. */
export function connectMachine(log: Log): Pick<Outside, "clock" | "host"> {
  const clock: Clock = createSystemClock();
  return { clock, host: connectHost({ clock, log }) };
}
