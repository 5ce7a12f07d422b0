import type { BuildOptions } from "esbuild";
import type { RareFile } from "./rare-packages.mjs";

/** Types of build.mjs, which is plain JavaScript so that any Node can run it. */
export function buildAll(options?: {
  readonly types?: boolean;
  readonly say?: (text: string) => void;
}): Promise<void>;

/** What is made of `src/main.ts`: options of each program by its name in dist/, and the files in dist/packages. */
export function programFiles(): Promise<{
  readonly programs: Readonly<Record<string, BuildOptions>>;
  readonly packages: Readonly<Record<string, RareFile>>;
}>;
