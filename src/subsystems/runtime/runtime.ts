/**
 * Creates, removes and observes sandboxes and containers through CRI. Owns: the last observations of the runtime
 * and its health. In: requests of the pods module. Out: observations, health. Invariants: an observation
 * of a pod was requested at its `asOf`; the number of sandboxes and containers made at once is bounded by the
 * processors, and containers go before sandboxes.
 *
 * Example:
 *     const runtime = new Runtime(options, deps);
 *     runtime.followPods(); // publishes observations to deps.news
 *     const sandboxId = await runtime.createSandbox(pod, 0, signal);
 *     const containerId = await runtime.createConfigured({ pod, container, sandboxId, ...rest }, signal);
 */

import type { EnvEntry } from "../../api/env/env.ts";
import type { Container } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { FoundPod, PodUid } from "../../api/observation.ts";
import { usesUserNamespace } from "../../api/pod/pod.ts";
import { kernelHostname } from "../../api/pod/pod-hostname.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { PresentImage } from "../../api/present-image.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Publisher } from "../../kit/topic.ts";
import { within } from "../../kit/within.ts";
import type {
  ContainerRuntime,
  DeepPartial,
  PodSandboxStatus,
  RuntimeService,
} from "../../outside/cri/cri.ts";
import type {
  LinuxContainerResources,
  Mount,
  UserNamespace,
} from "../../outside/cri/generated/api.ts";
import { isUnimplemented } from "../../outside/grpc/grpc.ts";
import type { RuntimeClassList } from "../../outside/kube/kube.ts";
import { RuntimeCalls } from "./calls/calls.ts";
import { type ContainerParts, containerConfig, type DeviceParts } from "./container-config.ts";
import { dnsFaults, missingClusterDns, sandboxDns } from "./dns.ts";
import { featuresOf, type RuntimeFeatures } from "./features.ts";
import { Observer, STATUS_WITHIN_MS } from "./observe.ts";
import type { Resolver } from "./resolver.ts";
import { runtimeHandler } from "./runtime-class.ts";
import { RuntimeInfoCache } from "./runtime-info.ts";
import { type SandboxSums, sandboxConfig } from "./sandbox-config.ts";
import {
  nonRootViolation,
  type SecurityParts,
  seccompViolation,
} from "./security/security-context.ts";
import type { UserNamespaces } from "./security/user-namespaces.ts";
import { usernsOptions, usernsRefusal } from "./security/userns-options.ts";
import type { ReadTail } from "./termination-message.ts";
import { RuntimeWatch } from "./watch-runtime.ts";

export type { RuntimeFeatures } from "./features.ts";
export { createHooks, type HookPlace } from "./hooks.ts";
export { instrumentRuntime } from "./instrument.ts";
export { Resolver } from "./resolver.ts";
export { openUserNamespaces, UserNamespaces } from "./security/user-namespaces.ts";

/** Folders and bounds of the module. */
interface RuntimeOptions {
  /** Folders of the agent: state below `root`, container logs below `logs`. */
  readonly roots: { readonly root: string; readonly logs: string };
  /** Containers that ask for no seccomp profile get the runtime's instead of none. */
  readonly seccompDefault: boolean;
  /** Processors that the agent may use; how many sandboxes and containers are made at once follows from them. */
  readonly cpuCount: number;
  /** Folders of the machine that containers do not see, beside the usual ones. */
  readonly thermalThrottleFolders: readonly string[];
  /** Kernel settings of pods that set none of the same name. */
  readonly defaultSysctls: Readonly<Record<string, string>>;
}

interface RuntimeDeps {
  readonly cri: ContainerRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly scope: TaskScope;
  /** Called for every pod that changed. */
  readonly news: Publisher<PodNews>;
  readonly pods: Pick<PodFacts, "get">;
  readonly readTail: ReadTail;
  /** A file of /proc; absent or `undefined` where there is none. */
  readonly readKernel?: (path: string) => string | undefined;
  readonly cgroupParent: (pod: IdentifiedPod) => string;
  readonly resources: (
    pod: IdentifiedPod,
    container: Container,
  ) => DeepPartial<LinuxContainerResources>;
  /** The pod's resources for the sandbox. */
  readonly sandboxResources: (pod: IdentifiedPod) => SandboxSums;
  /** Classes that pods name; absent where there is no API server. */
  readonly runtimeClasses?: RuntimeClassList;
  readonly resolver: Resolver;
  readonly userNamespaces: UserNamespaces;
}

/** One attempt of a container to create. */
interface StartRequest {
  readonly pod: IdentifiedPod;
  readonly container: Container;
  readonly sandboxId: string;
  readonly restartCount: number;
  /** How often all containers of the pod have been restarted. */
  readonly round: number;
  readonly image: PresentImage;
  readonly env: readonly EnvEntry[];
  readonly mounts: readonly DeepPartial<Mount>[];
  readonly devices: DeviceParts;
  /** Groups that its volumes bring. */
  readonly volumeGroups: readonly number[];
  /** NUMA nodes whose memory it may use, as `0,1`; any without. */
  readonly cpuset: { readonly cpusetMems?: string };
  /** Id of the container whose process namespace is joined. */
  readonly targetId: string | undefined;
}

/** The module; see above. */
export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #deps: RuntimeDeps;
  readonly #observer: Observer;
  readonly #calls: RuntimeCalls;
  readonly #info: RuntimeInfoCache;
  readonly watch: RuntimeWatch;

  constructor(options: RuntimeOptions, deps: RuntimeDeps) {
    this.#options = options;
    this.#deps = deps;
    const { runtime, images } = deps.cri;
    this.#observer = new Observer({
      runtime,
      images,
      clock: deps.clock,
      readTail: deps.readTail,
    });
    this.watch = new RuntimeWatch({
      runtime,
      clock: deps.clock,
      log: deps.log,
      metrics: deps.metrics,
      observer: this.#observer,
      news: deps.news,
      pods: deps.pods,
    });
    this.#calls = new RuntimeCalls(options.cpuCount, deps);
    this.#info = new RuntimeInfoCache(runtime);
    // A runtime of another version may be in the same health: its event stream has broken off then.
    this.watch.health.subscribe(() => this.#info.forget());
    this.watch.streaming.subscribe(() => this.#info.forget());
    this.#exposeCounts(deps.metrics);
  }

  /** The runtime service itself, for streaming, logs and probes. */
  get service(): RuntimeService {
    return this.#deps.cri.runtime;
  }

  /** Starts to ask the runtime for its status: the node's condition and admission wait for the first answer. */
  followHealth(): void {
    this.#deps.scope.spawn("runtime health", "restart", (signal) =>
      this.watch.followHealth(signal),
    );
  }

  /** Starts to observe pods; `listOnce` should have been awaited before. */
  followPods(): void {
    const { scope } = this.#deps;
    scope.spawn("runtime events", "restart", (signal) => this.watch.followEvents(signal));
    scope.spawn("runtime listings", "restart", (signal) => this.watch.followPods(signal));
  }

  /** Observes one pod for its caller, who passes on what was found: no listing reports it again. Throws when the runtime cannot list. */
  observe(uid: PodUid, signal: AbortSignal): Promise<FoundPod> {
    return this.watch.observe(uid, signal);
  }

  /** Makes a running sandbox and resolves with its id. */
  async createSandbox(pod: IdentifiedPod, attempt: number, signal: AbortSignal): Promise<string> {
    const handler = runtimeHandler(pod, this.#deps.runtimeClasses);
    const config = await this.#sandboxConfig(pod, attempt, await this.#idsOf(pod, handler, signal));
    const id = await this.#calls.start("sandbox", signal, (over) =>
      this.#deps.cri.runtime.runSandbox(config, handler, over),
    );
    this.#learn(id, pod);
    return id;
  }

  /** Entries omitted from the pod's resolv.conf, and why it gets the node's DNS instead of the cluster's. */
  async dnsProblems(
    pod: IdentifiedPod,
  ): Promise<{ readonly faults: readonly string[]; readonly missing: string | undefined }> {
    const dns = await this.#deps.resolver.read();
    return { faults: dnsFaults(pod, dns), missing: missingClusterDns(pod, dns) };
  }

  /** Makes a container in the pod's sandbox, with the CRI configuration of the request, and resolves with its id. */
  async createConfigured(request: StartRequest, signal: AbortSignal): Promise<string> {
    const { pod, container } = request;
    const userNamespace = await this.#idsOf(pod, undefined, signal);
    const parts: ContainerParts = {
      ...request,
      imageRef: request.image.ref,
      security: { ...this.#security(request), userNamespace },
      resources: { ...this.#deps.resources(pod, container), ...request.cpuset },
    };
    const config = containerConfig(pod, container, parts);
    const sandbox = await this.#sandboxConfig(pod, 0, userNamespace);
    const id = await this.#calls.start("container", signal, (over) =>
      // Short and decisive: it is waited for, so that no container starts unnoticed.
      this.#deps.cri.runtime.createContainer(request.sandboxId, config, sandbox, over),
    );
    this.#learn(id, pod);
    return id;
  }

  /** Addresses of a sandbox, primary first. */
  async addresses(sandboxId: string, signal: AbortSignal): Promise<readonly string[]> {
    const status = await this.#sandboxStatus(sandboxId, signal);
    this.#observer.takeStatus(status);
    const { network } = status;
    const more = (network?.additionalIps ?? []).map(({ ip }) => ip);
    return [network?.ip ?? "", ...more].filter((ip) => ip !== "");
  }

  /** Features of the runtime for the pod in this sandbox; requested again when the runtime has changed. */
  async features(
    pod: IdentifiedPod,
    sandboxId: string,
    signal: AbortSignal,
  ): Promise<RuntimeFeatures> {
    // The class may have changed since, or be gone.
    const handler = pod.spec?.runtimeClassName
      ? (await this.#sandboxStatus(sandboxId, signal)).runtimeHandler
      : "";
    const { status, version } = await this.#info.get(signal);
    return featuresOf(status, version, handler);
  }

  /** Whether the handler of a pod mounts trees read-only; `undefined` while handler or runtime are not known. */
  canMountRecursiveReadOnly(pod: IdentifiedPod): boolean | undefined {
    const { ready, handlers } = this.watch.health.get();
    if (!ready) return undefined;
    try {
      const handler = runtimeHandler(pod, this.#deps.runtimeClasses);
      const { features } = handlers.find(({ name }) => name === handler) ?? {};
      return features?.recursiveReadOnlyMounts === true;
    } catch (error) {
      if (!isOutside(error)) throw error;
      return undefined;
    }
  }

  /** Bounded: a pod that waits forever for the status of its sandbox could not even be terminated. */
  #sandboxStatus(id: string, signal: AbortSignal): Promise<PodSandboxStatus> {
    const { clock, cri } = this.#deps;
    const limit = { clock, ms: STATUS_WITHIN_MS, what: "the runtime" };
    return within(limit, signal, (own) => cri.runtime.sandboxStatus(id, own));
  }

  /** Releases the pod's ids for another pod, once none of its containers runs and its volumes are removed. */
  releaseIds(uid: string): Promise<void> {
    return this.#deps.userNamespaces.release(uid);
  }

  /** The pod's own ids; with a `handler` that cannot give them an `OutsideError`. */
  async #idsOf(
    pod: IdentifiedPod,
    handler: string | undefined,
    signal: AbortSignal,
  ): Promise<DeepPartial<UserNamespace> | undefined> {
    if (!usesUserNamespace(pod)) return undefined;
    const refusal =
      handler === undefined
        ? undefined
        : usernsRefusal((await this.#info.get(signal)).status, handler);
    if (refusal !== undefined) throw new OutsideError("precondition", refusal);
    return usernsOptions(await this.#deps.userNamespaces.rangeOf(pod.metadata.uid));
  }

  /** Why the container must not be made from this image; `undefined` when it may. */
  refusal(pod: IdentifiedPod, container: Container, image: PresentImage): string | undefined {
    return nonRootViolation(pod, container, image.user) ?? seccompViolation(pod, container);
  }

  startContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#calls.start("container", signal, (over) =>
      this.#deps.cri.runtime.startContainer(id, over),
    );
  }

  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    return this.#deps.cri.runtime.stopContainer(id, graceSeconds, signal);
  }

  async stopSandbox(id: string, signal: AbortSignal): Promise<void> {
    await this.#calls.remove(signal, (over) => this.#deps.cri.runtime.stopSandbox(id, over));
    this.#observer.stopped(id);
  }

  removeSandbox(id: string, signal: AbortSignal): Promise<void> {
    return this.#calls.remove(signal, (over) => this.#deps.cri.runtime.removeSandbox(id, over));
  }

  removeContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#calls.remove(signal, (over) => this.#deps.cri.runtime.removeContainer(id, over));
  }

  /** Changes the resources of a container as it runs. */
  updateContainer(
    id: string,
    resources: DeepPartial<LinuxContainerResources>,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#deps.cri.runtime.updateContainer(id, resources, signal);
  }

  /** Sends the pod's resources to a runtime that supports it. */
  async updateSandbox(id: string, pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const { resources = {}, overhead = {} } = this.#deps.sandboxResources(pod);
    try {
      await this.#deps.cri.runtime.updateSandbox(id, { resources, overhead }, signal);
    } catch (error) {
      if (!isUnimplemented(error)) throw error;
    }
  }

  #security({ image: { user }, volumeGroups }: StartRequest): SecurityParts {
    const { seccompDefault, roots, thermalThrottleFolders } = this.#options;
    return {
      seccompDefault,
      thermalThrottleFolders,
      seccompRoot: `${roots.root}/seccomp`,
      imageUser: user,
      volumeGroups,
    };
  }

  async #sandboxConfig(
    pod: IdentifiedPod,
    attempt: number,
    userNamespace: DeepPartial<UserNamespace> | undefined,
  ): Promise<ReturnType<typeof sandboxConfig>> {
    const dns = await this.#deps.resolver.read();
    return sandboxConfig(pod, {
      attempt,
      userNamespace,
      roots: this.#options.roots,
      defaultSysctls: this.#options.defaultSysctls,
      cgroupParent: this.#deps.cgroupParent(pod),
      ...this.#deps.sandboxResources(pod),
      dns: sandboxDns(pod, dns),
      hostname: hostnameOf(pod, dns.domain),
    });
  }

  #learn(id: string, pod: IdentifiedPod): void {
    this.#observer.learn(id, pod.metadata.uid);
  }

  #exposeCounts(metrics: MetricsRegistry): void {
    metrics.collected(METRICS.kubelet_running_containers, () =>
      Object.entries(this.#observer.counts().containers).map(([state, value]) => ({
        labels: { container_state: state },
        value,
      })),
    );
    metrics.collected(METRICS.kubelet_running_pods, () => [
      { value: this.#observer.counts().readySandboxes },
    ]);
    metrics.collected(
      {
        name: "nodelet_runtime_starts_waiting",
        help: "Sandboxes and containers that wait to be created.",
        type: "gauge",
      },
      () => [{ value: this.#calls.waitingStarts }],
    );
  }
}

/** The name the kernel gets; one that does not fit is the sandbox's fault, as in the Go kubelet. */
function hostnameOf(pod: IdentifiedPod, clusterDomain: string): string {
  const found = kernelHostname(pod, clusterDomain);
  if (found.kind === "fault") throw new OutsideError("precondition", found.message);
  return found.name;
}
