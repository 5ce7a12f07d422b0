// pure
/**
 * Which images go and which stay, from one snapshot. The periodic pass, disk pressure, `nodelet images gc`
 * and its dry run all ask this and nothing else.
 */
import { type ImageRecord, idleSinceMs } from "../image-record.ts";
import { type KeepFacts, type KeepRules, keepReason } from "./keep-rules.ts";

/** Settings of the collection; percentages 0 to 100, low at most high. */
export interface GcPolicy {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minAgeMs: number;
  /** 0: images are not removed for their age. */
  readonly maxAgeMs: number;
  readonly order: GcOrder;
  readonly keep: KeepRules;
}

/** `leastRecentlyUsed` is the Go kubelet's; `value` removes first what is cheap to have again for its size. */
export type GcOrder = "leastRecentlyUsed" | "value";

/** An image with all that decides over it. */
export interface GcImage extends ImageRecord {
  /** Containers in any state, and image volumes. */
  readonly usedBy: readonly string[];
  /** Containers that are about to be made, and pulls under way. */
  readonly heldFor: readonly string[];
  /** Pods of this node whose spec names it. */
  readonly neededBy: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly requested: KeepFacts["requested"];
}

/** Size of the file system that holds the images, as the kernel reports it. */
export interface ImageDisk {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** Everything a plan depends on, apart from policy and goal. */
export interface GcSnapshot {
  /** Unix milliseconds at which the listing began. */
  readonly atMs: number;
  /** How long the agent has been managing images. */
  readonly watchedMs: number;
  readonly images: readonly GcImage[];
  /** Absent when it could not be measured. */
  readonly disk?: ImageDisk;
  readonly unreachable: ReadonlySet<string>;
}

/** Goal of a pass. */
export type GcGoal =
  /** Age first, then from the high threshold down to the low one. */
  | { readonly kind: "periodic" }
  /** Everything that may go: disk pressure. */
  | { readonly kind: "unused" }
  | { readonly kind: "free"; readonly bytes: number }
  /** Disk usage down to this. */
  | { readonly kind: "usage"; readonly percent: number };

/** Why an image stays, in the order in which the rules are asked. */
type KeptRule =
  | "pinned"
  | "in use"
  | "held"
  | "needed by a pod"
  | "kept by name"
  | "kept by label"
  | "wanted lately"
  | "registry unreachable"
  | "used since the listing"
  | "too young"
  | "not needed for the goal";

/** Decision on an image, and its rule. */
type GcVerdict =
  | { readonly fate: "delete"; readonly rule: "age" | "space"; readonly image: GcImage }
  | {
      readonly fate: "keep";
      readonly rule: KeptRule;
      readonly detail: string;
      readonly image: GcImage;
    };

/** The images that go first, then those that would be next, then those that stay. */
export interface GcPlan {
  readonly atMs: number;
  readonly goal: GcGoal;
  readonly deletions: readonly (GcVerdict & { readonly fate: "delete" })[];
  /** Further candidates in order, for when a deletion fails or an image has come into use. */
  readonly reserve: readonly GcImage[];
  readonly kept: readonly (GcVerdict & { readonly fate: "keep" })[];
  /** Disk usage before, integer percent as the Go kubelet counts it; absent without figures. */
  readonly usagePercent?: number;
  /** Bytes the space pass is to free; `Infinity` for everything, 0 for nothing. */
  readonly toFreeBytes: number;
  /** Sum of the sizes of all that goes for space. */
  readonly freesBytes: number;
}

/** The age pass waits so long after the start at most: until then desired pods may not be known. */
const AGE_PASS_AFTER_MS = 10 * 60_000;
/** Assumed of an image that this node did not pull. */
const ASSUMED_BYTES_PER_MS = 10_000;

/** Usage of the disk in whole percent: 100 less the free part, which is rounded down. */
export function usagePercentOf({ capacityBytes, availableBytes }: ImageDisk): number {
  return 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

/** Bytes that are missing until usage is at `percent`. */
export function bytesToReach(percent: number, { capacityBytes, availableBytes }: ImageDisk) {
  return Math.floor((capacityBytes * (100 - percent)) / 100) - availableBytes;
}

/** The plan for a goal (image_gc_manager.go GarbageCollect, freeOldImages, freeSpace). */
export function planGc(snapshot: GcSnapshot, policy: GcPolicy, goal: GcGoal): GcPlan {
  const { atMs, disk } = snapshot;
  const protectedImages: GcVerdict[] = [];
  const candidates: GcImage[] = [];
  for (const image of snapshot.images) {
    const kept = protection(image, policy, snapshot);
    if (kept) protectedImages.push(kept);
    else candidates.push(image);
  }
  candidates.sort(comparator(policy.order, atMs));
  const old = goal.kind === "periodic" ? tooOld(candidates, policy, snapshot) : new Set<GcImage>();
  const agedBytes = sumOf([...old]);
  const after = disk && {
    capacityBytes: disk.capacityBytes,
    availableBytes: Math.min(disk.capacityBytes, disk.availableBytes + agedBytes),
  };
  const toFreeBytes = bytesToFree(goal, policy, after);
  const space = spacePass(
    candidates.filter((image) => !old.has(image)),
    toFreeBytes,
    { atMs, minAgeMs: policy.minAgeMs },
  );
  return {
    atMs,
    goal,
    deletions: [
      ...[...old].map((image) => ({ fate: "delete", rule: "age", image }) as const),
      ...space.chosen.map((image) => ({ fate: "delete", rule: "space", image }) as const),
    ],
    reserve: space.reserve,
    kept: [...space.kept, ...protectedImages].filter((verdict) => verdict.fate === "keep"),
    ...(disk && disk.capacityBytes > 0 ? { usagePercent: usagePercentOf(disk) } : {}),
    toFreeBytes,
    freesBytes: sumOf(space.chosen),
  };
}

function sumOf(images: readonly GcImage[]): number {
  return images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function keep(image: GcImage, rule: KeptRule, detail = ""): GcVerdict & { fate: "keep" } {
  return { fate: "keep", rule, detail, image };
}

/** Rule that protects an image from every pass, if any. */
function protection(
  image: GcImage,
  policy: GcPolicy,
  { atMs, unreachable }: GcSnapshot,
): GcVerdict | undefined {
  const { pinned, usedBy, heldFor, neededBy, labels, requested } = image;
  if (pinned) return keep(image, "pinned");
  if (usedBy.length > 0) return keep(image, "in use", usedBy.join(", "));
  if (heldFor.length > 0) return keep(image, "held", heldFor.join(", "));
  if (neededBy.length > 0) return keep(image, "needed by a pod", neededBy.join(", "));
  const reason = keepReason(policy.keep, image, { nowMs: atMs, labels, requested, unreachable });
  return reason && keep(image, reason.rule, reason.detail);
}

/** Images unused for longer than the maximum age, in the order of the candidates. */
function tooOld(
  candidates: readonly GcImage[],
  { maxAgeMs }: GcPolicy,
  { atMs, watchedMs }: GcSnapshot,
): ReadonlySet<GcImage> {
  if (maxAgeMs <= 0 || watchedMs <= Math.min(maxAgeMs, AGE_PASS_AFTER_MS)) return new Set();
  return new Set(candidates.filter((image) => atMs - idleSinceMs(image) > maxAgeMs));
}

function bytesToFree(goal: GcGoal, policy: GcPolicy, disk: ImageDisk | undefined): number {
  switch (goal.kind) {
    case "unused":
      return Number.POSITIVE_INFINITY;
    case "free":
      return Math.max(0, goal.bytes);
    case "usage":
      return disk ? Math.max(0, bytesToReach(goal.percent, disk)) : 0;
    case "periodic":
      if (!disk || disk.capacityBytes <= 0 || usagePercentOf(disk) < policy.highPercent) return 0;
      return Math.max(0, bytesToReach(policy.lowPercent, disk));
    default:
      return goal satisfies never;
  }
}

/** Takes images in order until enough is freed; with nothing to free everything stays. */
function spacePass(
  candidates: readonly GcImage[],
  toFreeBytes: number,
  { atMs, minAgeMs }: { readonly atMs: number; readonly minAgeMs: number },
) {
  const chosen: GcImage[] = [];
  const reserve: GcImage[] = [];
  const kept: GcVerdict[] = [];
  let freed = 0;
  for (const image of candidates) {
    if (image.lastUsedMs >= atMs) kept.push(keep(image, "used since the listing"));
    else if (atMs - image.firstDetectedMs < minAgeMs) kept.push(keep(image, "too young"));
    else if (freed >= toFreeBytes) {
      reserve.push(image);
      kept.push(keep(image, "not needed for the goal"));
    } else {
      chosen.push(image);
      freed += image.sizeBytes;
    }
  }
  return { chosen, reserve, kept };
}

/**
 * Value of an image per byte: the time to pull it again, relative to how long it was not used: milliseconds of pulling, divided by size and idle time. The lowest goes first.
 */
export function imageValue(image: GcImage, atMs: number): number {
  const pullMs = image.pullMs ?? image.sizeBytes / ASSUMED_BYTES_PER_MS;
  const idleMs = Math.max(1, atMs - idleSinceMs(image));
  return Math.max(1, pullMs) / (Math.max(1, image.sizeBytes) * idleMs);
}

function comparator(order: GcOrder, atMs: number): (a: GcImage, b: GcImage) => number {
  const byUse = (a: GcImage, b: GcImage) =>
    a.lastUsedMs - b.lastUsedMs ||
    a.firstDetectedMs - b.firstDetectedMs ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  if (order === "leastRecentlyUsed") return byUse;
  return (a, b) => imageValue(a, atMs) - imageValue(b, atMs) || byUse(a, b);
}
