import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { Random } from "../kit/random.ts";
import type { Tracer } from "../kit/tracing/tracing.ts";
import type { ContainerRuntime } from "./cri/cri.ts";
import type { Grpc } from "./grpc/grpc.ts";
import type { Host } from "./host/host.ts";
import type { Kube } from "./kube/kube.ts";
import type { Net } from "./net/net.ts";
import type { Serving } from "./serving.ts";
import type { ServiceNotifier } from "./systemd/service-notifier.ts";

/**
 * Everything that is not deterministic, in one object. Whoever swaps it (the simulation) runs the same
 * agent on another world.
 */
export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Records what takes how long; absent where nothing does. */
  readonly tracer?: Tracer;
  readonly host: Host;
  readonly cri: ContainerRuntime;
  readonly net: Net;
  /** Absent where there are no plugins: the agent then hands out no devices. */
  readonly grpc?: Grpc;
  /** Ways to API servers; absent in a world that has none. */
  readonly kube?: Kube;
  /** Absent where no service manager has started the agent. */
  readonly serviceNotifier?: ServiceNotifier;
  /** Absent in a simulation: the agent then serves nothing. */
  readonly serving?: Serving;
}
