// pure

import type { RuntimeFilesystem } from "./gc/image-disk.ts";
import { type GcImage, type GcPlan, type GcPolicy, imageValue } from "./gc/plan-gc.ts";
import type { ImageRecord } from "./image-record.ts";

/** One image with what a pass would do to it now. */
export interface ReportedImage extends ImageRecord {
  readonly usedBy: readonly string[];
  readonly heldFor: readonly string[];
  readonly neededBy: readonly string[];
  readonly fate: "delete" | "keep";
  readonly rule: string;
  /** Evidence of the rule, e.g. the containers that use the image; may be empty. */
  readonly detail: string;
  /** Its place in the order in which images go, from 1; absent for those that are protected. */
  readonly place?: number;
  /** Milliseconds of pulling saved for each byte and millisecond of keeping it; the lowest goes first. */
  readonly value: number;
}

/** Bytes and percent of the file system that holds the images. */
export type ReportedDisk = RuntimeFilesystem & { readonly usagePercent: number };

/** All images, and what a pass for a goal would do. */
export interface ImagesReport {
  readonly atMs: number;
  readonly goal: GcPlan["goal"];
  /** Absent when it could not be measured. */
  readonly disk?: ReportedDisk;
  readonly policy: Pick<GcPolicy, "highPercent" | "lowPercent" | "minAgeMs" | "maxAgeMs" | "order">;
  /** Bytes that the space pass is to free; absent for "everything that may go". */
  readonly toFreeBytes?: number;
  readonly freesBytes: number;
  /** Images that go first, then those that would be next, then those that stay. */
  readonly images: readonly ReportedImage[];
}

/** The report of a plan. */
export function reportPlan(
  plan: GcPlan,
  policy: GcPolicy,
  disk: ReportedDisk | undefined,
): ImagesReport {
  const places = new Map<GcImage, number>();
  for (const image of [...plan.deletions.map((one) => one.image), ...plan.reserve])
    places.set(image, places.size + 1);
  const rows = [...plan.deletions, ...plan.kept].map((verdict): ReportedImage => {
    const { image, fate, rule } = verdict;
    const { labels: _, requested: __, ...shown } = image;
    const place = places.get(image);
    return {
      ...shown,
      fate,
      rule,
      detail: verdict.fate === "keep" ? verdict.detail : "",
      ...(place === undefined ? {} : { place }),
      value: imageValue(image, plan.atMs),
    };
  });
  const { highPercent, lowPercent, minAgeMs, maxAgeMs, order } = policy;
  return {
    atMs: plan.atMs,
    goal: plan.goal,
    ...(disk ? { disk } : {}),
    policy: { highPercent, lowPercent, minAgeMs, maxAgeMs, order },
    ...(Number.isFinite(plan.toFreeBytes) ? { toFreeBytes: plan.toFreeBytes } : {}),
    freesBytes: plan.freesBytes,
    images: rows,
  };
}
