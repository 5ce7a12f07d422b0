// pure
import type { Volume } from "../../generated/types.ts";
import type { VolumeSourceName } from "../../pod/volume-sources.ts";
import type { Problems } from "../fields.ts";

/** The volume and its pod. */
export interface VolumeContext {
  readonly volumeName: string;
  readonly podName: string;
}

/** Validates a volume source of one kind. */
export type VolumeCheck<K extends VolumeSourceName> = (
  source: NonNullable<Volume[K]>,
  path: string,
  context: VolumeContext,
) => Problems;
/** A check for every kind of volume. */
export type VolumeChecks = { readonly [K in VolumeSourceName]: VolumeCheck<K> };
