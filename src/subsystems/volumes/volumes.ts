/**
 * Volumes of pods. Owns: the volume folders of pods and what is mounted in them. In: pods
 * to prepare, to bring up to date or to clear. Out: mounts of a container. Invariants: preparing twice
 * changes nothing; files of a volume change all at once; nothing in a volume is reached through a link
 * that leaves it; clearing follows no link and crosses no mount point.
 *
 * Example:
 *     const volumes = new Volumes({ roots, clusterDomain, allocatable }, deps);
 *     await volumes.mount(pod, signal);
 *     const { mounts } = await volumes.mounts({ pod, container, restartCount, env, podIps, features, images });
 *     await volumes.unmount(pod);
 */

import type { Allocatable } from "../../api/env/downward.ts";
import type { EnvEntry } from "../../api/env/env.ts";
import type { Container } from "../../api/generated/types.ts";
import { podPaths } from "../../api/pod/pod-paths.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { CsiVolumes } from "../../api/ports/csi-volumes.ts";
import type { ObjectEvents, PodEvents } from "../../api/ports/events.ts";
import type { LabelSet } from "../../api/text/labels.ts";
import { SELINUX_FILE } from "../../config/paths.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Publisher } from "../../kit/topic.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { DeepPartial } from "../../outside/cri/cri.ts";
import { type Mount, MountPropagation } from "../../outside/cri/generated/api.ts";
import type { DiskUsage, PodFiles, VolumeFiles } from "../../outside/host/host.ts";
import type { ObjectSource, ServiceAccountTokens } from "../../outside/kube/kube.ts";
import { ClaimStats, type MeasuredMount } from "./claim-stats.ts";
import {
  type AttemptWithFiles,
  hostsFileFor,
  terminationLogFor,
  terminationLogPath,
} from "./container-files.ts";
import type { MadeVolume } from "./kind.ts";
import { LocalVolumes } from "./local-volumes.ts";
import { type PlannedDevice, planDevices } from "./plan-devices.ts";
import { type MountFeatures, type PlannedMount, planMounts } from "./plan-mounts.ts";
import { type PodCertificateSource, PodCertificates } from "./pod-certificates/pod-certificates.ts";
import { PodVolumes } from "./pod-volumes.ts";
import { tearDown } from "./teardown.ts";
import { UNMEASURED, type VolumeMeasures, volumeMeasures } from "./volume-measures.ts";

export type { MadeVolume, MountFeatures, PodCertificateSource };
export { PodCertificates };

/** Folders and switches of the module. */
interface VolumeOptions {
  readonly roots: { readonly root: string; readonly logs: string };
  /** Domain of the cluster, for names in /etc/hosts. */
  readonly clusterDomain: string;
  /** Allocatable amounts: sizes of volumes in memory, and values that files show. */
  readonly allocatable: Allocatable;
  /** Whether folders of `emptyDir` get the mode that the pod says. */
  readonly emptyDirModes?: boolean;
}

interface VolumeDeps {
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  readonly clock: Clock;
  /** Absent where there is no API server. */
  readonly objects?: ObjectSource;
  readonly tokens?: ServiceAccountTokens;
  readonly certificates?: PodCertificateSource;
  /** Volumes of CSI drivers. */
  readonly csi?: CsiVolumes;
  /** Usage of the file system that holds a path; without it claims have no figures. */
  readonly diskUsage?: (path: string) => Promise<DiskUsage | undefined>;
  /** A file of /sys; without it block volumes have no figures. */
  readonly readKernel?: (path: string) => string | undefined;
  readonly metrics?: MetricsRegistry;
  /** Labels of the node's object in the API; `undefined` until it is known. */
  readonly nodeLabels?: () => LabelSet | undefined;
  readonly events: PodEvents & ObjectEvents;
  /** Called for every failure to make a volume. */
  readonly news: Publisher<PodNews>;
}

/** A container to compute the mounts of. */
interface MountRequest {
  readonly pod: IdentifiedPod;
  readonly container: Container;
  readonly restartCount: number;
  readonly env: readonly EnvEntry[];
  /** Addresses of the pod, primary first; of the node for pods on its network. */
  readonly podIps: readonly string[];
  readonly features: MountFeatures;
  /** How the runtime knows the image of each image volume, by the volume's name. */
  readonly images: ReadonlyMap<string, string>;
}

/** Mounts and devices that a container gets from volumes. */
export interface ContainerMounts {
  readonly mounts: readonly DeepPartial<Mount>[];
  /** Nodes of block volumes. */
  readonly devices: readonly PlannedDevice[];
  /** Groups that volumes bring. */
  readonly groups: readonly number[];
}

/** How long a pod waits for its volumes before it says so as a whole (kubelet podAttachAndMountTimeout). */
const TIMEOUT_MS = 123_000;
/** Why a pod that was admitted is rejected: the node can have no more volumes of a driver. */
export const ATTACH_LIMIT_REASON = "VolumeAttachmentLimitExceeded";
/** Between attempts (goroutinemap exponentialbackoff: 500 ms to 2 min 2 s). */
const RETRY = { initialMs: 500, maxMs: 122_000 };
/** Interval at which tokens and failed refreshes are checked. */
const AGING_MS = 60_000;
/** Longest file of variables that is read from a volume (KEP-3721). */
const VOLUME_FILE_MAX_BYTES = 64 * 1024;
/**
 * A folder that a sub path makes gets the whole mode of its volume's topmost folder, this when there is none. With
 * set-gid the volume's group comes to what is made in it, with the sticky bit users cannot remove each other's files.
 */
const SUB_PATH_MODE = 0o750;

const PROPAGATION = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
} as const;

/** All volumes of the node's pods. */
export class Volumes {
  readonly #options: VolumeOptions;
  readonly #deps: VolumeDeps;
  readonly #pods = new Map<string, PodVolumes>();
  readonly #claims: ClaimStats;
  readonly #local: LocalVolumes;
  readonly #measures: VolumeMeasures;
  readonly #hasSelinux: boolean;

  constructor(options: VolumeOptions, deps: VolumeDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#local = new LocalVolumes(options.roots.root, deps);
    const { clock, diskUsage = async () => undefined, readKernel = () => undefined } = deps;
    this.#claims = new ClaimStats({ clock, diskUsage, readKernel }, deps.metrics);
    this.#hasSelinux = readKernel(SELINUX_FILE) !== undefined;
    this.#measures = deps.metrics
      ? volumeMeasures({
          clock,
          metrics: deps.metrics,
          volumes: () => [...this.#pods.values()].flatMap(({ counted }) => counted),
          hasSelinux: this.#hasSelinux,
        })
      : UNMEASURED;
  }

  /** Renews tokens and certificates before they expire, until the signal is aborted. */
  async keepFresh(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(AGING_MS, signal);
      for (const volumes of this.#pods.values()) volumes.refreshAging();
      await this.#claims.measure([...this.#pods.values()].flatMap(({ claims }) => claims));
    }
  }

  /**
   * Makes every volume of the pod, trying again while some are missing and at once when an object arrives.
   * Failures are reported each time. Throws `OutsideError` "deadline" when the pod has waited long enough.
   */
  async mount(pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const volumes = this.#of(pod);
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + TIMEOUT_MS;
    const wakeup = new Wakeup();
    using stack = new DisposableStack();
    stack.defer(volumes.subscribe(() => wakeup.wake()));
    for (let failures = 1; ; failures += 1) {
      await volumes.makeMissing(signal);
      const left = deadline - clock.monotonic();
      if (volumes.missing.length === 0) return;
      if (left <= 0) {
        const why = unmounted(volumes.missing);
        if (await this.#deps.csi?.exceedsLimit(pod.metadata.uid, signal)) this.#reject(pod, why);
        throw new OutsideError("deadline", `Unable to attach or mount volumes: ${why}`);
      }
      await wakeup.wait({ clock, ms: Math.min(retryDelayMs(failures, RETRY), left) }, signal);
      signal.throwIfAborted();
    }
  }

  /** The pod ends: the node can have no more of its volumes (volumemanager). */
  #reject(pod: IdentifiedPod, why: string): void {
    const { events, news } = this.#deps;
    const message = `Node has reached its volume attachment limit, rejecting pod. ${why}`;
    events.ofPod(pod, { type: "Warning", reason: ATTACH_LIMIT_REASON, message });
    const { uid } = pod.metadata;
    const cause = { reason: ATTACH_LIMIT_REASON, message: `Pod was rejected: ${message}` };
    news.publish({ kind: "evicted", uid, ...cause });
  }

  /** The claims that a pod has mounted, as last measured; those mounted within the last minute may be missing. */
  measuredClaims(podUid: string): readonly MeasuredMount[] {
    return this.#claims.measured(this.#pods.get(podUid)?.claims ?? []);
  }

  /** The pod is another version of itself now: files with its labels and annotations follow. */
  podChanged(pod: IdentifiedPod): void {
    this.#pods.get(pod.metadata.uid)?.podChanged(pod);
  }

  /** Removes every volume of the pod with its content. */
  async unmount(pod: IdentifiedPod, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    const uid = pod.metadata.uid;
    const volumes = this.#pods.get(uid);
    await volumes?.close();
    this.#pods.delete(uid);
    this.#deps.tokens?.forget(uid);
    const clear = () => this.clearOrphan(uid, signal);
    await (volumes ? volumes.takeAway(clear) : clear());
  }

  /** Unmounts and removes volumes of a pod that is not known any more. */
  async clearOrphan(uid: string, signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    const { files, volumes, csi } = this.#deps;
    const release = () => this.#local.release(uid);
    const unpublish = async () => await csi?.unpublish(uid, signal);
    await tearDown(podPaths(this.#options.roots, identifyPod({ metadata: { uid } })), {
      files,
      volumes,
      release,
      unpublish,
    });
  }

  /** The text of a file in a volume of the pod; `undefined` when there is none. */
  async readFile(pod: IdentifiedPod, volume: string, path: string): Promise<string | undefined> {
    const made = this.#of(pod).made.get(volume);
    if (!made?.hostPath) return undefined;
    return await this.#deps.volumes.readBeneath(made.hostPath, path, VOLUME_FILE_MAX_BYTES);
  }

  /** Images that the container mounts, by volume. */
  imagesOf(
    pod: IdentifiedPod,
    container: Container,
  ): readonly {
    readonly volume: string;
    readonly reference: string;
    readonly pullPolicy: string;
  }[] {
    const made = this.#of(pod).made;
    return (container.volumeMounts ?? []).flatMap(({ name }) => {
      const image = made.get(name)?.image;
      return image ? [{ volume: name, ...image }] : [];
    });
  }

  /** Removes the file of the termination message of an attempt that the runtime has removed. */
  async removed(attempt: AttemptWithFiles): Promise<void> {
    await this.#deps.files.remove(terminationLogPath(attempt, this.#options));
  }

  /** The mounts of one container: its volumes, /etc/hosts and the file of its termination message. */
  async mounts(request: MountRequest): Promise<ContainerMounts> {
    const { pod, container, env, features } = request;
    const made = this.#of(pod).made;
    const plan = planMounts(container, { made, env, features });
    if (plan.kind === "fault") throw new OutsideError("precondition", plan.message);
    const devices = planDevices(container, made);
    if (devices.kind === "fault") throw new OutsideError("precondition", devices.message);
    const mounts: DeepPartial<Mount>[] = [];
    for (const mount of plan.mounts) mounts.push(await this.#mountOf(mount, request));
    const { terminationMessagePath = "" } = container;
    const attempt = { pod, container: container.name, restartCount: request.restartCount };
    const own = [
      await hostsFileFor(request, this.#options, this.#deps.files),
      terminationLogFor(attempt, terminationMessagePath, this.#options),
    ].filter((each) => each !== undefined);
    if (own.length > 0) await this.#deps.volumes.overwrite(own.map(({ file }) => file));
    appendAll(
      mounts,
      own.map(({ mount }) => ({ ...mount, ...this.#labelling(true) })),
    );
    const groups = [...made.values()].flatMap(({ groupId }) =>
      groupId === undefined ? [] : [groupId],
    );
    return { mounts, devices: devices.devices, groups };
  }

  async #mountOf(mount: PlannedMount, request: MountRequest): Promise<DeepPartial<Mount>> {
    const { made, subPath, volumeName, containerPath, readOnly } = mount;
    const common = {
      containerPath,
      readonly: readOnly,
      recursiveReadOnly: mount.recursiveReadOnly,
      propagation: PROPAGATION[mount.propagation],
      ...(mount.options.length > 0 ? { mountOptions: [...mount.options] } : {}),
      ...this.#labelling(made.relabels === true),
    };
    if (made.image) {
      const image = request.images.get(volumeName) ?? made.image.reference;
      return {
        ...common,
        image: { image, userSpecifiedImage: made.image.reference },
        imageSubPath: subPath,
      };
    }
    if (subPath === "") return { ...common, hostPath: made.hostPath };
    const hostPath = await this.#bindSubPath(mount, request);
    return { ...common, hostPath };
  }

  /** Whether the runtime gives files of the pod the label of its container: only where the machine has SELinux. */
  #labelling(isOwn: boolean): { readonly selinuxRelabel?: true } {
    return isOwn && this.#hasSelinux ? { selinuxRelabel: true } : {};
  }

  /** A sub path is mounted by its descriptor, and the runtime only ever sees where. */
  async #bindSubPath(
    { made, subPath, volumeName, index }: PlannedMount,
    { pod, container }: MountRequest,
  ): Promise<string> {
    const { subPaths } = podPaths(this.#options.roots, pod);
    const target = `${subPaths}/${volumeName}/${container.name}/${index}`;
    const facts = await this.#deps.files.facts(made.hostPath, { follow: true });
    const createMode = facts?.mode ?? SUB_PATH_MODE;
    try {
      const relativePath = subPath;
      await this.#deps.volumes.bindBeneath({
        root: made.hostPath,
        relativePath,
        target,
        createMode,
      });
      return target;
    } catch (error) {
      const message = `failed to prepare subPath for volumeMount "${volumeName}" of container "${container.name}": ${messageOf(error)}`;
      throw new OutsideError("precondition", message, { cause: error });
    }
  }

  #of(pod: IdentifiedPod): PodVolumes {
    const uid = pod.metadata.uid;
    const known = this.#pods.get(uid);
    if (known) return known;
    const paths = podPaths(this.#options.roots, pod);
    const { nodeLabels = () => undefined } = this.#deps;
    const own = { local: this.#local, nodeLabels, measures: this.#measures };
    const made = new PodVolumes(pod, paths, { ...this.#deps, ...this.#options, ...own });
    this.#pods.set(uid, made);
    return made;
  }
}

/** Which volumes are missing, in the Go kubelet's words. */
const unmounted = (names: readonly string[]): string =>
  `unmounted volumes=[${names.join(" ")}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`;
