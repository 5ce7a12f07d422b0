import type { Plugin } from "esbuild";

/** A plugin for esbuild: TypeScript files below `folder` are bundled with plain names for their private ones. */
export function plainPrivateNames(folder: string): Plugin;

/** The name in the source of a member with a plain name; any other name is as it is. */
export function sourceName(name: string): string;
