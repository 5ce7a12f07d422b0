/** One attempt of a container out of what the subsystems know of it: variables, mounts, devices. */
import type { EnvEntry } from "../../api/env/env.ts";
import type { Container } from "../../api/generated/types.ts";
import { sortPodIps } from "../../api/node/node-addresses.ts";
import type { PodUid } from "../../api/observation.ts";
import { findContainer, isHostNetworkPod, podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { InvariantError, messageOf } from "../../kit/errors.ts";
import type { Counter } from "../../kit/metrics.ts";
import {
  type ContainerDeviceParts,
  type Devices,
  DevicesNotReady,
} from "../../subsystems/devices/devices.ts";
import type { Environments } from "../../subsystems/environment/environment.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Images } from "../../subsystems/images/images.ts";
import type { Logs } from "../../subsystems/logs/logs.ts";
import type { NumaMemory } from "../../subsystems/numa-memory/numa-memory.ts";
import {
  ClaimsNotReady,
  type ResourceClaims,
} from "../../subsystems/resource-claims/resource-claims.ts";
import type { Runtime, RuntimeFeatures } from "../../subsystems/runtime/runtime.ts";
import type { ContainerMounts, Volumes } from "../../subsystems/volumes/volumes.ts";
import type { Topology } from "../admission/topology/topology.ts";
import { ContainerConfigError, type CreateContainerOptions } from "../pods/ports.ts";

/** The subsystems a container is made from. */
export interface ContainerDeps {
  readonly devices: Devices;
  readonly topology: Topology;
  readonly environments: Environments;
  readonly events: Events;
  readonly images: Images;
  readonly logs: Logs;
  readonly memory: Pick<NumaMemory, "nodesFor">;
  readonly resourceClaims: Pick<ResourceClaims, "cdiDevices" | "prepare" | "unprepare">;
  readonly runtime: Runtime;
  readonly volumes: Volumes;
  readonly hostIps: () => readonly string[];
  /** Numbers of attempts of containers that the runtime knows nothing of; 0 where none was kept. */
  readonly counts: { next(uid: PodUid, container: string): number };
  readonly imageVolumes: ImageVolumeCounters;
}

/** Image volumes of containers that are made. */
interface ImageVolumeCounters {
  readonly requested: Counter;
  readonly mounted: Counter;
  readonly failed: Counter;
}

/** How soon a container whose devices are not there is tried again. */
const DEVICES_RETRY_MS = 5_000;

/** Parameters of one attempt. */
interface Attempt {
  readonly options: CreateContainerOptions;
  readonly restartCount: number;
  readonly container: Container;
  readonly podIps: readonly string[];
  readonly features: RuntimeFeatures;
  readonly deps: ContainerDeps;
  readonly signal: AbortSignal;
}

/** Makes the container and resolves with its id; what the spec is at fault for is a `ContainerConfigError`. */
export async function createAttempt(
  options: CreateContainerOptions,
  deps: ContainerDeps,
  signal: AbortSignal,
): Promise<string> {
  const { pod, sandboxId, round, image } = options;
  const container = containerOf(options);
  const refusal = deps.runtime.refusal(pod, container, image);
  if (refusal !== undefined) throw new ContainerConfigError(refusal);
  // Neither needs another's answer, and each is a way to another process and back.
  const [restartCount, features, podIps] = await Promise.all([
    options.restartCount > 0 ? options.restartCount : firstCount(options, deps),
    deps.runtime.features(pod, sandboxId, signal),
    addressesOf(options, deps, signal),
  ]);
  if (container.lifecycle?.stopSignal !== undefined && !features.stopSignals)
    throw new ContainerConfigError("this container runtime does not support custom stop signals");
  const attempt = { options, restartCount, container, podIps, features, deps, signal };
  const env = await environmentOf(attempt);
  const { mounts, devices, groups } = await mountsOf(attempt, env);
  const parts = await devicesOf(attempt);
  const id = await countingImageVolumes(mounts, deps, () =>
    deps.runtime.createConfigured(
      {
        pod,
        container,
        sandboxId,
        restartCount,
        round,
        image,
        devices: { ...parts, devices: [...parts.devices, ...devices] },
        mounts: [...parts.mounts, ...mounts],
        env: [...parts.env, ...env],
        volumeGroups: groups,
        cpuset: cpusetOf(attempt),
        targetId: options.targetId,
      },
      signal,
    ),
  );
  deps.logs.links.created(id, { pod, container: options.container, restartCount });
  return id;
}

/** Where its memory is, when that was chosen. */
function cpusetOf({ options: { pod }, container, deps: { memory } }: Attempt): {
  readonly cpusetMems?: string;
} {
  const cpusetMems = memory.nodesFor(pod, container.name);
  return cpusetMems === undefined ? {} : { cpusetMems };
}

/** The runtime mounts images as it makes the container. */
async function countingImageVolumes(
  mounts: ContainerMounts["mounts"],
  { imageVolumes: { requested, mounted, failed } }: ContainerDeps,
  make: () => Promise<string>,
): Promise<string> {
  const images = mounts.filter(({ image }) => image !== undefined).length;
  if (images === 0) return await make();
  requested.add({}, images);
  try {
    const id = await make();
    mounted.add({}, images);
    return id;
  } catch (error) {
    failed.add({}, images);
    throw error;
  }
}

/** Of a container that the runtime knows nothing of. */
async function firstCount(
  { pod, container }: CreateContainerOptions,
  { logs, counts }: ContainerDeps,
): Promise<number> {
  const continued = counts.next(pod.metadata.uid, container);
  return Math.max(continued, await logs.nextAttempt(pod, container));
}

function containerOf({ pod, container }: CreateContainerOptions): Container {
  const found = findContainer(pod, container);
  if (!found) throw new InvariantError(`pod ${podDisplayName(pod)} has no container ${container}`);
  return found.container;
}

/** A sandbox that was just made has not been observed yet; on the node's network the addresses are the node's. */
async function addressesOf(
  { pod, podIps, sandboxId }: CreateContainerOptions,
  { runtime, hostIps, events }: ContainerDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isHostNetworkPod(pod)) return hostIps();
  if (podIps.length > 0) return sortPodIps(podIps, hostIps());
  try {
    return sortPodIps(await runtime.addresses(sandboxId, signal), hostIps());
  } catch (error) {
    signal.throwIfAborted();
    const message = `Unable to get pod sandbox status: ${messageOf(error)}`;
    events.ofPod(pod, { type: "Warning", reason: "FailedPodSandBoxStatus", message });
    throw error;
  }
}

async function environmentOf({
  options: { pod },
  container,
  podIps,
  deps,
  signal,
}: Attempt): Promise<readonly EnvEntry[]> {
  const hostIps = deps.hostIps();
  const found = await deps.environments.of({ pod, container, podIps, hostIps }, signal);
  if (found.kind === "fault") throw new ContainerConfigError(found.message);
  return found.entries;
}

async function mountsOf(
  { options: { pod }, restartCount, container, podIps, features, deps, signal }: Attempt,
  env: readonly EnvEntry[],
): Promise<ContainerMounts> {
  const images = features.imageVolumes
    ? await imagesOf({ pod, container, deps, signal })
    : new Map<string, string>();
  try {
    const options = { pod, container, restartCount, env, podIps, features, images };
    return await deps.volumes.mounts(options);
  } catch (error) {
    signal.throwIfAborted();
    throw new ContainerConfigError(messageOf(error), { cause: error });
  }
}

/** Images that are mounted are pulled like those that are run. */
async function imagesOf({
  pod,
  container,
  deps,
  signal,
}: Pick<Attempt, "container" | "deps" | "signal"> & { readonly pod: IdentifiedPod }): Promise<
  ReadonlyMap<string, string>
> {
  const found = new Map<string, string>();
  for (const { volume, reference, pullPolicy } of deps.volumes.imagesOf(pod, container)) {
    const request = { pod, container: container.name, image: reference, policy: pullPolicy };
    const answer = await deps.images.ensure(request, signal);
    if (answer.kind === "refused") {
      const { message, reason, retryInMs } = answer;
      throw new ContainerConfigError(message, { reason, retryInMs });
    }
    found.set(volume, answer.image.ref);
  }
  return found;
}

/** What claims and devices add; a container that no longer has them gets others, placed like the first. */
async function devicesOf({
  options: { pod },
  container,
  deps: { topology, devices, resourceClaims },
  signal,
}: Attempt): Promise<ContainerDeviceParts> {
  const placing = topology.placeAgain(pod, container.name);
  if (placing.kind === "refused")
    throw new ContainerConfigError(placing.message, { retryInMs: DEVICES_RETRY_MS });
  try {
    const claimed = resourceClaims.cdiDevices(pod, container);
    const parts = await devices.containerParts(pod, container, placing.placement, signal);
    return { ...parts, cdiDevices: [...new Set([...claimed, ...parts.cdiDevices])] };
  } catch (error) {
    throw asConfigError(error);
  }
}

function asConfigError(error: unknown): unknown {
  if (error instanceof ClaimsNotReady)
    return new ContainerConfigError(error.message, { cause: error });
  if (error instanceof DevicesNotReady)
    return new ContainerConfigError(error.message, { cause: error, retryInMs: DEVICES_RETRY_MS });
  return error;
}
