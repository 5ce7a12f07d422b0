// pure
import type { EmptyDirVolumeSource, Pod } from "../../api/generated/types.ts";
import { podResources } from "../../api/pod/pod-resources.ts";
import { wholeOf } from "../../api/text/quantity.ts";

/**
 * Bytes of a volume in memory: what the node can give to pods, the pod's memory limit where that is less,
 * and the volume's own limit where that is less again (emptydir calculateEmptyDirMemorySize).
 */
export function memorySize(
  pod: Pod,
  { sizeLimit }: Pick<EmptyDirVolumeSource, "sizeLimit">,
  allocatableBytes: number,
): number {
  let size = allocatableBytes;
  const { limits, memoryLimited } = podResources(pod);
  const podLimit = memoryLimited ? limits.memoryBytes : 0;
  if (podLimit > 0 && podLimit <= size) size = podLimit;
  const own = sizeLimit === undefined ? 0 : wholeOf(sizeLimit);
  return own > 0 && own <= size ? own : size;
}

/** Size and page size of a volume of huge pages, or why there is none. */
export type HugePages =
  | { readonly kind: "pages"; readonly pageBytes: number; readonly sizeBytes: number }
  | { readonly kind: "fault"; readonly message: string };

const MEDIUM = "HugePages";
const RESOURCE = "hugepages-";

/**
 * Huge pages of a volume: of the medium's size, or of the only size the pod asks for; as many bytes as
 * the containers request of it (emptydir getPageSizeMountOption).
 */
export function hugePagesOf(pod: Pod, medium: string): HugePages {
  const requested = new Map<string, number>();
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  for (const { resources } of [...initContainers, ...containers])
    for (const [name, text] of Object.entries(resources?.requests ?? resources?.limits ?? {}))
      if (name.startsWith(RESOURCE))
        requested.set(name, (requested.get(name) ?? 0) + wholeOf(text));
  const sizes = [...requested.keys()];
  if (medium !== MEDIUM) {
    const name = RESOURCE + medium.slice(MEDIUM.length + 1);
    const sizeBytes = requested.get(name);
    return sizeBytes === undefined
      ? {
          kind: "fault",
          message: `medium "${medium}" for a volume does not match any page size of the pod's requests`,
        }
      : { kind: "pages", pageBytes: wholeOf(name.slice(RESOURCE.length)), sizeBytes };
  }
  const [only] = sizes;
  if (only === undefined)
    return {
      kind: "fault",
      message: "hugePages storage requested, but there is no resource request for huge pages",
    };
  if (sizes.length > 1)
    return {
      kind: "fault",
      message: "medium HugePages can't be used if multiple huge page sizes are requested",
    };
  const pageBytes = wholeOf(only.slice(RESOURCE.length));
  return { kind: "pages", pageBytes, sizeBytes: requested.get(only) ?? 0 };
}
