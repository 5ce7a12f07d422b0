// pure
import { humanDuration } from "../../api/text/human-duration.ts";
import type { ImagesReport, ReportedImage } from "../../subsystems/images/images.ts";
import { humanBytes } from "../amounts.ts";
import { counted } from "../text.ts";
import type { Column } from "./table.ts";

/** One image as a row, with the time of the listing. */
export interface ImageRow {
  readonly image: ReportedImage;
  readonly atMs: number;
}

const IDLE_FORMAT = "never";

/** Columns of `nodelet images`. */
export const IMAGE_COLUMNS: readonly Column<ImageRow>[] = [
  { title: "IMAGE", value: ({ image }) => imageName(image) },
  { title: "ID", value: ({ image: { id } }) => shortId(id), wide: true },
  { title: "SIZE", value: ({ image }) => humanBytes(image.sizeBytes), align: "right" },
  {
    title: "SEEN",
    value: ({ image, atMs }) => humanDuration(atMs - image.firstDetectedMs),
    wide: true,
  },
  {
    title: "USED",
    value: ({ image: { lastUsedMs }, atMs }) =>
      lastUsedMs === 0 ? IDLE_FORMAT : humanDuration(atMs - lastUsedMs),
  },
  { title: "USED BY", value: ({ image: { usedBy } }) => usersOf(usedBy) },
  {
    title: "PULL",
    value: ({ image: { pullMs } }) => (pullMs === undefined ? "" : humanDuration(pullMs)),
    wide: true,
  },
  {
    title: "NEXT PASS",
    value: ({ image }) => (image.fate === "delete" ? "deletes" : "keeps"),
    style: ({ image }) => (image.fate === "delete" ? "yellow" : undefined),
  },
  { title: "WHY", value: ({ image }) => whyOf(image) },
];

/** Columns of a list of deletions. */
export const DELETION_COLUMNS: readonly Column<ImageRow>[] = [
  { title: "IMAGE", value: ({ image }) => imageName(image) },
  { title: "ID", value: ({ image: { id } }) => shortId(id) },
  { title: "SIZE", value: ({ image }) => humanBytes(image.sizeBytes), align: "right" },
  {
    title: "USED",
    value: ({ image: { lastUsedMs }, atMs }) =>
      lastUsedMs === 0 ? IDLE_FORMAT : humanDuration(atMs - lastUsedMs),
  },
  { title: "WHY", value: ({ image }) => whyOf(image) },
];

/** The name of an image, or its short id when it has none. */
export function imageName({ id, tags, digests }: Pick<ReportedImage, "id" | "tags" | "digests">) {
  return tags[0] ?? digests[0] ?? shortId(id);
}

function shortId(id: string): string {
  return id.replace(/^sha256:/, "").slice(0, 12);
}

function usersOf(users: readonly string[]): string {
  const [first = "", ...more] = users;
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

const REASONS: Readonly<Record<string, string>> = {
  age: "unused for longer than the maximum age",
  space: "space is needed",
};

function whyOf({ rule, detail, place }: ReportedImage): string {
  const why = REASONS[rule] ?? rule;
  if (rule === "not needed for the goal" && place !== undefined)
    return `${why}, would be number ${place}`;
  return detail === "" || rule === "in use" ? why : `${why}: ${detail}`;
}

/** A line about the disk and the thresholds. */
export function diskLine({ disk, policy }: ImagesReport): string {
  if (!disk) return "disk: unknown";
  const used = `${disk.usagePercent}% of ${humanBytes(disk.capacityBytes)} used at ${disk.mountPoint}`;
  const rule =
    policy.highPercent >= 100
      ? "no collection by disk usage"
      : `images are removed from ${policy.highPercent}% usage down to ${policy.lowPercent}%`;
  return `disk: ${used}; ${rule}`;
}

/** A line about what a plan frees. */
export function planLine({ images, freesBytes, toFreeBytes }: ImagesReport): string {
  const going = images.filter(({ fate }) => fate === "delete");
  if (going.length === 0) return "no image would be removed";
  const total = going.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const short =
    toFreeBytes !== undefined && freesBytes < toFreeBytes
      ? `; ${humanBytes(toFreeBytes - freesBytes)} less than requested`
      : "";
  return `${counted(going.length, "image")} would be removed, ${humanBytes(total)}${short}`;
}
