import type { Plugin } from "esbuild";

/** A plugin for esbuild: imports of these modules become objects whose members load the module. */
export function lazyModules(names: readonly string[]): Plugin;

/** Whether an input of a bundle is one of these objects, and no file. */
export function isLazyModule(path: string): boolean;
