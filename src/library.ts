/**
 * nodelet as a library: the agent with typed ports. `startAgent(options, outside, hooks)` runs it;
 * `connectOutside` is this machine, and any part of it (runtime, host, clock, network) can be replaced by
 * an object of the same shape. `hooks` add pods, admission rules and a status sink. See docs/library.md.
 */
import { type AgentHooks, type AgentOptions, launchAgent as startModules } from "./agent.ts";
import type { Outside } from "./outside/outside.ts";
import type { Statuses } from "./pipeline/status/status.ts";
import type { Events } from "./subsystems/events/events.ts";
import type { Journal } from "./subsystems/journal/journal.ts";

export type { AgentHooks, AgentOptions } from "./agent.ts";
export type { DecisionRecord } from "./api/decisions.ts";
export type { Pod, PodSpec, PodStatus } from "./api/generated/types.ts";
export { defaultPod } from "./api/pod/pod-defaults.ts";
export { validatePod } from "./api/validation/validation.ts";
export { DEFAULT_CONFIG } from "./config/fields/defaults.ts";
export type { KubeletConfig } from "./config/kubelet-config.ts";
export type { Clock, MonotonicMs, WallMs } from "./kit/clock.ts";
export { createSystemClock } from "./kit/clock.ts";
export { OutsideError, UsageError } from "./kit/errors.ts";
export type { Log } from "./kit/log.ts";
export { silentLog } from "./kit/log.ts";
export type { Random } from "./kit/random.ts";
export { createSeededRandom, createSystemRandom } from "./kit/random.ts";
export type { ClusterOptions } from "./node/cluster.ts";
export type { ConnectedOutside, ConnectOptions } from "./outside/connect.ts";
export { connectOutside } from "./outside/connect.ts";
export type { ContainerRuntime, ImageService, RuntimeService } from "./outside/cri/cri.ts";
export type { CgroupTree, Files, Host } from "./outside/host/host.ts";
export type { ApiReply, ApiRequest, ApiTransport } from "./outside/kube/kube.ts";
export { createLog } from "./outside/log/log.ts";
export type { Net } from "./outside/net/net.ts";
export type { Outside } from "./outside/outside.ts";
export type { AdmissionVerdict, Admit } from "./pipeline/pods/admit.ts";
export type { PodSink, PodSource } from "./pipeline/sources/sources.ts";
export type { PodWithStatus, StatusSink } from "./pipeline/status/status.ts";
export type {
  EventApi,
  EventApiFault,
  EventHandler,
  EventPatch,
  EventPolicy,
} from "./subsystems/events/events.ts";
export { EventApiError } from "./subsystems/events/events.ts";
export type { ProbesOptions } from "./subsystems/probes/probes.ts";

/** A running agent. Disposing of it ends its loops and connections, and no container. */
export interface Agent extends AsyncDisposable {
  /** The status of every pod, and word of every change. */
  readonly statuses: Pick<Statuses, "list" | "get" | "subscribe">;
  /** Events of the node: the history, each event as it is recorded, and a recorder for events of the embedder. */
  readonly events: Pick<Events, "list" | "read" | "addWatcher" | "recorder">;
  /** Decisions of the agent with rule and inputs, those of previous runs included. */
  readonly decisions: Pick<Journal, "read">;
  /** Resolves when `leave` is aborted, rejects when something the agent cannot do without has failed. */
  untilLeaving(leave: AbortSignal): Promise<void>;
}

/**
 * Starts the agent on `outside`: lists what the machine and the runtime have, then follows the sources. Resolves when
 * pods are being run. Throws `UsageError` when configuration and machine do not fit together.
 */
export async function startAgent(
  options: AgentOptions,
  outside: Outside,
  hooks: AgentHooks = {},
): Promise<Agent> {
  const modules = await startModules(options, outside, hooks);
  const { statuses } = modules.pipeline;
  const { events, journal } = modules.subsystems;
  return {
    statuses: {
      list: () => statuses.list(),
      get: (uid) => statuses.get(uid),
      subscribe: (sink) => statuses.subscribe(sink),
    },
    events: {
      list: () => events.list(),
      read: (query) => events.read(query),
      addWatcher: (name, handler) => events.addWatcher(name, handler),
      recorder: events.recorder,
    },
    decisions: { read: (query) => journal.read(query) },
    untilLeaving: (leave) => modules.untilLeaving(leave),
    [Symbol.asyncDispose]: () => modules[Symbol.asyncDispose](),
  };
}
