// pure
/** Ranges of user and group ids that pods with user namespaces get (kubelet userns, kubelet_pods.go). */

/** Ids from `first` on; user and group ids alike. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** First id beyond all there are. */
const END = 2 ** 32;
/** Ranges are multiples of this. */
const UNIT = 65_536;

/** All ids but the lowest, which are the machine's own, and the highest, which hold no valid id: -1 is none. */
export function defaultRange(idsPerPod: number): IdRange {
  return withoutLast({ first: idsPerPod, length: END - idsPerPod - (END % idsPerPod) }, idsPerPod);
}

/** The range without the block of ids that ends with 2^32 - 1, if it holds that. */
export function withoutLast(range: IdRange, idsPerPod: number): IdRange {
  const { first, length } = range;
  return first + length === END ? { first, length: length - idsPerPod } : range;
}

/** Output of `getsubids`: one line `0: kubelet 65536 7208960`. */
export function parseSubIds(output: string): IdRange | { readonly fault: string } {
  const lines = output.replace(/^\n+|\n+$/g, "").split("\n");
  if (lines.length !== 1)
    return { fault: `error parsing line ${JSON.stringify(output)}: it must contain only one line` };
  const parts = (lines[0] ?? "").split(/\s+/).filter((part) => part !== "");
  const [first, length] = [Number(parts[2]), Number(parts[3])];
  const isId = (id: number) => Number.isSafeInteger(id) && id >= 0 && id < END;
  if (parts.length !== 4 || !isId(first) || !isId(length))
    return { fault: `invalid line ${JSON.stringify(output)}` };
  return { first, length };
}

/** Why pods cannot be given ids out of this range; `undefined` when they can. */
export function rangeFault(
  { first, length }: IdRange,
  { idsPerPod, maxPods }: { readonly idsPerPod: number; readonly maxPods: number },
): string | undefined {
  if (idsPerPod % UNIT !== 0)
    return `kubelet user namespace length ${idsPerPod} is not a multiple of ${UNIT}`;
  if (first % idsPerPod !== 0)
    return `kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`;
  if (first < idsPerPod)
    return `kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`;
  if (length % idsPerPod !== 0)
    return `kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`;
  if (first + length > END)
    return `kubelet user assigned IDs end at ${first + length - 1}, beyond the last ID ${END - 1}`;
  if (Math.floor(length / idsPerPod) < maxPods)
    return `kubelet user assigned IDs are not enough to support ${maxPods} pods`;
  return undefined;
}

/** The file of a pod's ids, as the Go kubelet writes it. */
export function formatMappings({ first, length }: IdRange): string {
  const mappings = [{ hostId: first, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
}

interface Mapping {
  readonly hostId?: unknown;
  readonly containerId?: unknown;
  readonly length?: unknown;
}

/** Contents of a pod's file, or what is wrong with it. */
export function parseMappings(text: string): IdRange | { readonly fault: string } {
  let read: { readonly uidMappings?: unknown; readonly gidMappings?: unknown };
  try {
    read = (JSON.parse(text) ?? {}) as typeof read;
  } catch (error) {
    return { fault: `invalid user namespace mappings file: ${String(error)}` };
  }
  const invalid = (why: string) => ({ fault: `invalid user namespace configuration: ${why}` });
  const [users, groups] = [listOf(read.uidMappings), listOf(read.gidMappings)];
  const [user] = users;
  if (!user || users.length !== 1) return invalid("no more than one mapping allowed.");
  if (JSON.stringify(user) !== JSON.stringify(groups[0]) || groups.length !== 1)
    return invalid("GID and UID mapping should be identical");
  if (user.containerId !== 0) return invalid("UID 0 must be mapped");
  const { hostId, length } = user;
  if (typeof hostId !== "number" || typeof length !== "number") return invalid("ids are numbers");
  return { first: hostId, length };
}

function listOf(value: unknown): readonly Mapping[] {
  return Array.isArray(value) ? (value as Mapping[]) : [];
}
