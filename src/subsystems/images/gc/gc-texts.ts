// pure
import type { GcPlan, ImageDisk } from "./plan-gc.ts";

const GO_UNITS = ["", "Ki", "Mi", "Gi", "Ti"] as const;

/** A size as the Go kubelet writes it in its messages: binary units, whole bytes or one digit after the point (formatSize). */
export function referenceSize(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < GO_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${Math.trunc(bytes)} B` : `${amount.toFixed(1)} ${GO_UNITS[unit]}B`;
}

/** Message of `FreeDiskSpaceFailed`, and of the error of the pass. */
export function notEnoughFreed(plan: GcPlan, disk: ImageDisk, freedBytes: number): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${plan.usagePercent ?? 0}% of ` +
    `${referenceSize(disk.capacityBytes)} used). Failed to free sufficient space by deleting unused ` +
    `images (freed ${freedBytes} bytes). Investigate disk usage, as it could be used by active images, ` +
    "logs, volumes, or other data."
  );
}

/** The error of a pass in which images could not be removed. */
export function deletionsFailed(
  wanted: number,
  freedBytes: number,
  errors: readonly string[],
): string {
  const bytes = Number.isFinite(wanted) ? String(wanted) : "all";
  return `wanted to free ${bytes} bytes, but freed ${freedBytes} bytes space with errors in image deletion: ${aggregateErrors(errors)}`;
}

/** Several errors as one text, each once (apimachinery errors.NewAggregate). */
export function aggregateErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
