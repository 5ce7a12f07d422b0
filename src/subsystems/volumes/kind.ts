import type { Allocatable } from "../../api/env/downward.ts";
import type { Volume } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { CsiUsage, CsiVolumes } from "../../api/ports/csi-volumes.ts";
import type { ObjectEvents, PodEvents } from "../../api/ports/events.ts";
import type { LabelSet } from "../../api/text/labels.ts";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { PodFiles, VolumeFiles } from "../../outside/host/host.ts";
import type {
  KubeObject,
  ObjectSource,
  Resource,
  ServiceAccountTokens,
} from "../../outside/kube/kube.ts";
import type { LocalVolumes } from "./local-volumes.ts";
import type { PodCertificateSource } from "./pod-certificates/pod-certificates.ts";

export interface KindDeps {
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  readonly clock: Clock;
  /** Volumes that stay when a pod goes. */
  readonly local: LocalVolumes;
  /** Labels of the node's object; `undefined` until it is known. */
  readonly nodeLabels: () => LabelSet | undefined;
  readonly events: PodEvents & ObjectEvents;
  /** Allocatable amounts, for sizes and for values that volumes show. */
  readonly allocatable: Allocatable;
  /** Whether folders of `emptyDir` get the mode that the pod says (gate EmptyDirVolumeMode). */
  readonly emptyDirModes?: boolean;
  /** Absent where there is no API server. */
  readonly objects?: ObjectSource;
  readonly tokens?: ServiceAccountTokens;
  readonly certificates?: PodCertificateSource;
  /** Volumes of CSI drivers. */
  readonly csi?: CsiVolumes;
}

/** A volume of a pod to set up. */
export interface VolumeRequest {
  readonly pod: IdentifiedPod;
  readonly volume: Volume;
  /** The pod's folder for volumes, made already. */
  readonly folder: string;
  /** The pod's folder for what kinds note about volumes; not made yet. */
  readonly plugins: string;
  /** The pod's folder for links to block volumes; not made yet. */
  readonly devices: string;
}

/** A volume that is there. */
export interface MadeVolume {
  /** Path on the node; empty for an image and for a block device. */
  readonly hostPath: string;
  /** Containers may read it only, whatever they ask for. */
  readonly readOnly: boolean;
  /** Its files are the pod's own: with SELinux, the runtime gives them the label of the container. */
  readonly relabels?: true;
  /** Group that every process of the pod is put in for its sake. */
  readonly groupId?: number;
  /** Why it could not be brought up to date; its containers go on with what it holds. */
  readonly fault?: string;
  /** Claim by which it came. */
  readonly claim?: string;
  /** Access modes of the persistent volume behind it. */
  readonly accessModes?: readonly string[];
  /** It is a block device: where its node is on the node, to be shown to containers. */
  readonly device?: string;
  /** Number of that device, `major:minor`. */
  readonly deviceNumber?: string;
  /** Once a minute it is set up again: it may have to be brought up to date. */
  readonly ages?: true;
  /** Asks whoever has the volume for its size and use; otherwise its file system is asked. */
  readonly measure?: () => Promise<CsiUsage | undefined>;
  /** Who that is. */
  readonly measuredBy?: string;
  /** Mounted by the runtime itself. */
  readonly image?: { readonly reference: string; readonly pullPolicy: string };
}

/** An object the volume shows; a change of it makes the volume be made again. */
export interface Followed {
  readonly resource: Resource<KubeObject>;
  readonly namespace: string;
  readonly name: string;
}

/** One kind of volume. Making one twice changes nothing, or brings it up to date. */
export interface VolumeKind {
  /** Folder of its volumes below the pod's (`kubernetes.io~secret`). */
  readonly plugin: string;
  /** Makes the volume; throws `OutsideError` with what users are to read. */
  setUp(request: VolumeRequest, deps: KindDeps, signal: AbortSignal): Promise<MadeVolume>;
  /** API objects that the volume shows. */
  follows?(request: VolumeRequest): readonly Followed[];
  /**
   * Starts what has to be requested for as long as the volume is needed; `onChange` makes the volume be made
   * again. The results end it.
   */
  keeps?(request: VolumeRequest, deps: KindDeps, onChange: () => void): readonly (() => void)[];
  /** Calls `wake` when one that is missing may be had, until the result is called. */
  wakes?(deps: KindDeps, wake: () => void): (() => void) | undefined;
  /** It shows the pod itself, whose labels and annotations change. */
  readonly showsPod?: (volume: Volume) => boolean;
  /** It holds something that runs out. */
  readonly ages?: (volume: Volume) => boolean;
}

/** Path of a volume of the kind. */
export function volumePath({ folder, volume }: VolumeRequest, plugin: string): string {
  return `${folder}/${plugin}/${volume.name}`;
}

/** The namespace of the pod. */
export const namespaceOf = (pod: IdentifiedPod): string => pod.metadata.namespace;

/** Gets an object; missing is `undefined`, no API server an error that says so. */
export async function getObject<T extends KubeObject>(
  deps: Pick<KindDeps, "objects">,
  resource: Resource<T>,
  place: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<T | undefined> {
  if (!deps.objects) {
    const what = `${resource.kind} ${place.namespace}/${place.name}`;
    throw new OutsideError("precondition", `couldn't get ${what}: there is no API server`);
  }
  return await deps.objects.get(resource, place, signal);
}
