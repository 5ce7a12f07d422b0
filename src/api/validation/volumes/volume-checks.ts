// pure
import type { Volume } from "../../generated/types.ts";
import type { Problems } from "../fields.ts";

/** Which volume of which pod is looked at. */
export interface VolumeContext {
  readonly volumeName: string;
  readonly podName: string;
}

/** The kinds of volumes. */
export type SourceName = Exclude<keyof Volume, "name">;
/** What is wrong with a source of one kind. */
export type Check<K extends SourceName> = (
  source: NonNullable<Volume[K]>,
  path: string,
  context: VolumeContext,
) => Problems;
/** A check for some or all kinds of volumes. */
export type VolumeChecks = { readonly [K in SourceName]?: Check<K> };
