import { CSI_PLUGIN } from "../../api/plugin-paths.ts";
import { isFileName } from "../../api/text/path-names.ts";
import { OutsideError } from "../../kit/errors.ts";
import { sha256Hex } from "../../outside/digest.ts";

/** File that says which volume a folder is of, by whose driver. */
const DATA_FILE = "vol_data.json";

/** Paths of a volume that pods share, or of one pod's part of it. */
interface CsiPlaces {
  /** Where the driver stages a file system or a device; a folder. */
  readonly staging: string;
  /** Says which volume is staged there. */
  readonly stagingData: string;
  /** Of a block volume: nodes of its device, by pod, and what the driver has made for each. */
  readonly nodes: string;
  readonly published: string;
}

/** Paths of a pod's part of a volume. */
interface CsiPodPlaces {
  /** The pod's folder of the volume; of a block volume the one of its links. */
  readonly folder: string;
  /** What the driver makes: a mount, or the node of a device. */
  readonly target: string;
  /** Says which volume it is. */
  readonly data: string;
  /** Of a block volume: node of the device, held, and link to `target`. */
  readonly node: string;
  readonly link: string;
}

/** The folders of the Go kubelet (csi_util.go, csi_block.go). */
export class CsiPaths {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Folder of all staged file systems, `<driver>/<hash of the handle>`. */
  get drivers(): string {
    return `${this.#root}/plugins/kubernetes.io/csi`;
  }

  /** Folder of block volumes. */
  get blocks(): string {
    return `${this.drivers}/volumeDevices`;
  }

  get pods(): string {
    return `${this.#root}/pods`;
  }

  /** The pod's folders of volumes, as file systems and as devices. */
  ofPod(podUid: string): { readonly mounts: string; readonly links: string } {
    const pod = `${this.#root}/pods/${podUid}`;
    return { mounts: `${pod}/volumes/${CSI_PLUGIN}`, links: `${pod}/volumeDevices/${CSI_PLUGIN}` };
  }

  /** Of a file system: the driver and the handle alone say where, so that two volumes with one handle share it. */
  shared(volume: {
    readonly driver: string;
    readonly handle: string;
    readonly specName: string;
    readonly isBlock: boolean;
  }): CsiPlaces {
    if (volume.isBlock) {
      const spec = folderName(volume.specName);
      return {
        staging: `${this.blocks}/staging/${spec}`,
        stagingData: `${this.blocks}/${spec}/data/${DATA_FILE}`,
        nodes: `${this.blocks}/${spec}/dev`,
        published: this.#published(spec),
      };
    }
    const folder = `${this.drivers}/${folderName(volume.driver)}/${sha256Hex(volume.handle)}`;
    return {
      staging: `${folder}/globalmount`,
      stagingData: `${folder}/${DATA_FILE}`,
      nodes: "",
      published: "",
    };
  }

  #published(folder: string): string {
    return `${this.blocks}/publish/${folder}`;
  }

  forPod(
    volume: { readonly specName: string; readonly isBlock: boolean },
    podUid: string,
  ): CsiPodPlaces {
    const spec = folderName(volume.specName);
    const { mounts, links } = this.ofPod(podUid);
    if (volume.isBlock)
      return {
        folder: links,
        target: `${this.#published(spec)}/${podUid}`,
        data: `${this.blocks}/${spec}/data/${DATA_FILE}`,
        node: `${this.blocks}/${spec}/dev/${podUid}`,
        link: `${links}/${spec}`,
      };
    const folder = `${mounts}/${spec}`;
    return {
      folder,
      target: `${folder}/mount`,
      data: `${folder}/${DATA_FILE}`,
      node: "",
      link: "",
    };
  }
}

/** A name as the name of a folder; slashes become tildes. */
function folderName(name: string): string {
  const escaped = name.replaceAll("/", "~");
  if (!isFileName(escaped))
    throw new OutsideError("invalid", `${JSON.stringify(name)} cannot be the name of a folder`);
  return escaped;
}

/** Name of the object by which a volume is attached to a node (csi_attacher.go getAttachmentName). */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${sha256Hex(handle + driver + nodeName)}`;
}

/** Handle of a volume that exists for one pod only (csi_mounter.go makeVolumeHandle). */
export function inlineHandle(podUid: string, volume: string): string {
  return `csi-${sha256Hex(podUid + volume)}`;
}
