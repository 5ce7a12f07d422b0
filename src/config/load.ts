import { messageOf } from "../kit/errors.ts";
import { appendAll } from "../kit/limits/lists.ts";
import { assembleConfig, type LoadedConfig } from "./assemble.ts";
import { type ConfigText, MAX_CONFIG_BYTES } from "./file/config-text.ts";
import { parseFlags } from "./flags/flags.ts";
import { resolvePath } from "./paths.ts";
import { type ConfigProblem, plain } from "./problem.ts";

export type { LoadedConfig } from "./assemble.ts";

/** File operations used for loading; implemented by `Files` of the outside. */
export interface ConfigFiles {
  readText(path: string, options: { readonly maxBytes: number }): Promise<string | undefined>;
  list(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: string }[] | undefined>;
}

export interface LoadOptions {
  /** Working folder, absolute. */
  readonly cwd: string;
}

/** Names of drop-in files end with this. */
const DROP_IN_SUFFIX = ".conf";
const MAX_DROP_INS = 1_000;
const MAX_DEPTH = 16;

/**
 * Reads flags, `--config` and `--config-dir`, and puts the configuration together. What the user got
 * wrong comes back as `problems`, missing and unreadable files included; it never throws for it.
 */
export async function loadConfig(
  argv: readonly string[],
  files: ConfigFiles,
  options: LoadOptions,
): Promise<LoadedConfig> {
  const { cwd } = options;
  const parsed = parseFlags(argv);
  const problems: ConfigProblem[] = [...parsed.problems];
  const { config: basePath, configDir } = parsed.flags;
  const base =
    basePath === "" ? undefined : await readFile(files, resolvePath(cwd, basePath), problems);
  const dropIns =
    configDir === "" ? [] : await readDropIns(files, resolvePath(cwd, configDir), problems);
  const flags = { ...parsed, problems };
  return assembleConfig({ flags, dropIns, cwd, ...(base === undefined ? {} : { base }) });
}

async function readFile(
  files: ConfigFiles,
  path: string,
  problems: ConfigProblem[],
): Promise<ConfigText | undefined> {
  const fail = (why: string, fix: string): undefined => {
    problems.push({ ...plain("", why, fix), place: { source: path } });
    return undefined;
  };
  try {
    const text = await files.readText(path, { maxBytes: MAX_CONFIG_BYTES });
    return text === undefined ? fail("there is no such file", "check --config") : { path, text };
  } catch (thrown) {
    return fail(`the file cannot be read: ${messageOf(thrown)}`, "check --config");
  }
}

/** Every `*.conf` below the folder, folders and files in the order of their names. */
async function readDropIns(
  files: ConfigFiles,
  folder: string,
  problems: ConfigProblem[],
): Promise<readonly ConfigText[]> {
  const fail: Fail = (path, why) => {
    problems.push({ ...plain("", why, "check --config-dir"), place: { source: path } });
  };
  const paths = await listDropIns(files, folder, 0, fail);
  if (paths.length > MAX_DROP_INS) fail(folder, `more than ${MAX_DROP_INS} drop-in files`);
  const found: ConfigText[] = [];
  for (const path of paths.slice(0, MAX_DROP_INS)) {
    const file = await readFile(files, path, problems);
    if (file !== undefined) found.push(file);
  }
  return found;
}

type Fail = (path: string, why: string) => void;

async function listDropIns(
  files: ConfigFiles,
  folder: string,
  depth: number,
  fail: Fail,
): Promise<readonly string[]> {
  if (depth > MAX_DEPTH) {
    fail(folder, `folders nest deeper than ${MAX_DEPTH}`);
    return [];
  }
  const entries = await listFolder(files, folder, fail);
  const paths: string[] = [];
  for (const { name, kind } of entries.toSorted((a, b) => compareBytes(a.name, b.name))) {
    const path = `${folder === "/" ? "" : folder}/${name}`;
    if (kind === "directory") appendAll(paths, await listDropIns(files, path, depth + 1, fail));
    else if (name.endsWith(DROP_IN_SUFFIX)) paths.push(path);
    if (paths.length > MAX_DROP_INS) break;
  }
  return paths;
}

async function listFolder(
  files: ConfigFiles,
  folder: string,
  fail: Fail,
): Promise<readonly { readonly name: string; readonly kind: string }[]> {
  try {
    const entries = await files.list(folder);
    if (entries === undefined) fail(folder, "there is no such folder");
    return entries ?? [];
  } catch (thrown) {
    fail(folder, `the folder cannot be read: ${messageOf(thrown)}`);
    return [];
  }
}

/** Names in the order of their UTF-8 bytes, as the Go kubelet walks a folder. */
function compareBytes(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => new TextEncoder().encode(text));
  if (left === undefined || right === undefined) return 0;
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
