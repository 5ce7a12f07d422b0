/**
 * nodelet as a library: the agent with typed ports. `startAgent(options, outside, hooks)` runs it;
 * `connectOutside` is this machine, and any part of it (runtime, host, clock, network) can be replaced by
 * an object of the same shape. `hooks` add pods, admission rules and a status sink. See docs/library.md.
 */
export type { Agent, AgentHooks, AgentOptions } from "./agent.ts";
export { startAgent } from "./agent.ts";
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
