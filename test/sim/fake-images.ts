import { OutsideError } from "../../src/kit/errors.ts";
import type { ImageService, PullRequest } from "../../src/outside/cri/cri.ts";
import { FilesystemUsage, Image } from "../../src/outside/cri/generated/api.ts";

/** Registry that the fake can pull from; everything else is not found. */
const REGISTRY = "nodelet.test/";
const DEFAULT_IMAGE = "nodelet.test/nodelet-test:1";
const DEFAULT_BYTES = 1000;
/** Where the fake says that images are; a host that knows the path can measure it. */
export const FAKE_IMAGE_FOLDER = "/var/lib/containerd";

export interface FakeImage {
  readonly name: string;
  readonly sizeBytes: number;
  readonly pinned: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** How the fake runs its calls: with their time, faults and events of the runtime. */
export type FakeCall = <T>(op: string, signal: AbortSignal, act: () => T) => Promise<T>;

/** The images of the fake runtime: one name each, the id is made of it. */
export class FakeImages {
  readonly all = new Map<string, FakeImage>();
  /** Sizes of images that can be pulled, where they matter. */
  readonly sizes = new Map<string, number>();
  /** Called for every image that was removed. */
  onRemoved: ((image: FakeImage) => void) | undefined;
  /** Time a pull takes beside that of the call. */
  pullTakes: (image: string, signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  /** What the registry says to a pull; throws to refuse it. */
  onPull: (request: PullRequest) => void = () => {};

  constructor() {
    this.add(DEFAULT_IMAGE);
  }

  add(name: string, more: Partial<Omit<FakeImage, "name">> = {}): void {
    const sizeBytes = this.sizes.get(name) ?? DEFAULT_BYTES;
    this.all.set(name, { name, sizeBytes, pinned: false, labels: {}, ...more });
  }

  /** The image that a name or id means. */
  find(reference: string): FakeImage | undefined {
    return this.all.get(reference) ?? this.all.get(reference.replace(/^sha256:/, ""));
  }

  /** Bytes of all images together. */
  get totalBytes(): number {
    return [...this.all.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  service(call: FakeCall): ImageService {
    const shown = (image: FakeImage | undefined) =>
      image &&
      Image.fromPartial({
        id: `sha256:${image.name}`,
        repoTags: [image.name],
        size: BigInt(image.sizeBytes),
        pinned: image.pinned,
      });
    return {
      listImages: (signal) =>
        call("listImages", signal, () => [...this.all.values()].flatMap((one) => shown(one) ?? [])),
      imageStatus: (reference, signal) =>
        call("imageStatus", signal, () => shown(this.find(reference))),
      imageLabels: (reference, signal) =>
        call("imageLabels", signal, () => this.find(reference)?.labels ?? {}),
      pullImage: async (request, signal) => {
        await this.pullTakes(request.image, signal);
        return await call("pullImage", signal, () => {
          this.onPull(request);
          return this.#pull(request.image);
        });
      },
      removeImage: (reference, signal) =>
        call("removeImage", signal, () => {
          const image = this.find(reference);
          if (!image) return;
          this.all.delete(image.name);
          this.onRemoved?.(image);
        }),
      filesystems: (signal) =>
        call("filesystems", signal, () => ({ images: [this.#usage()], containers: [] })),
    };
  }

  #pull(name: string): string {
    if (!name.startsWith(REGISTRY)) throw new OutsideError("notFound", `${name}: not found`);
    if (!this.all.has(name)) this.add(name);
    return `sha256:${name}`;
  }

  #usage(): FilesystemUsage {
    return FilesystemUsage.fromPartial({
      fsId: { mountpoint: FAKE_IMAGE_FOLDER },
      usedBytes: { value: BigInt(this.totalBytes) },
    });
  }
}
