// pure
import type { EmptyDirVolumeSource, Pod, ResourceRequirements } from "../../api/generated/types.ts";
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
 * Huge pages of a volume: of the medium's size, or of the only size that the pod or its containers request; as many
 * bytes as the pod requests of it, or else all containers together (emptydir getPageSizeMountOption).
 */
export function hugePagesOf(pod: Pod, medium: string): HugePages {
  const requested = requestedPages(pod);
  if (medium !== MEDIUM) {
    const pageBytes = wholeOf(medium.slice(MEDIUM.length + 1));
    const sizeBytes = requested.get(pageBytes);
    return sizeBytes === undefined ? noRequest(medium) : { kind: "pages", pageBytes, sizeBytes };
  }
  const [only] = requested;
  if (only === undefined) return noRequest(medium);
  const [pageBytes, sizeBytes] = only;
  if (requested.size === 1) return { kind: "pages", pageBytes, sizeBytes };
  return {
    kind: "fault",
    message: `medium: ${medium} can't be used if container requests multiple huge page sizes`,
  };
}

const noRequest = (medium: string): HugePages => ({
  kind: "fault",
  message: `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
});

/** Bytes by size of a page. */
function requestedPages({ spec }: Pod): ReadonlyMap<number, number> {
  const { initContainers = [], containers = [], resources } = spec ?? {};
  const requested = new Map<number, number>();
  for (const each of [...initContainers, ...containers])
    for (const [page, bytes] of pagesOf(each.resources))
      requested.set(page, (requested.get(page) ?? 0) + bytes);
  for (const [page, bytes] of pagesOf(resources)) requested.set(page, bytes);
  return requested;
}

/** Limits of huge pages are requests as well. */
const pagesOf = ({ requests, limits }: ResourceRequirements = {}) =>
  Object.entries({ ...limits, ...requests }).flatMap(([name, text]) =>
    name.startsWith(RESOURCE)
      ? [[wholeOf(name.slice(RESOURCE.length)), wholeOf(text)] as const]
      : [],
  );
