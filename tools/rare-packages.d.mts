import type { BuildOptions, Plugin } from "esbuild";

/** A file that holds packages, and the paths of what is in it. */
export interface RareFile {
  readonly text: string;
  readonly inputs: readonly string[];
}

/** Whether an input of a bundle stands for such a package, and is no file. */
export function isRarePackage(path: string): boolean;

/**
 * Bundles packages, `groups` being their names by the name of the file they are in. Gives the text of each file, and
 * what a bundle needs that loads them from `folder`, a path relative to its own: a plugin for esbuild and a banner.
 */
export function rarePackages(
  groups: Readonly<Record<string, readonly string[]>>,
  folder: string,
  options: BuildOptions,
): Promise<{
  readonly files: Readonly<Record<string, RareFile>>;
  readonly banner: string;
  readonly plugin: Plugin;
}>;
