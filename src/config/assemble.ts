// pure

import type { JsonValue } from "../api/generated/types.ts";
import { isTree, mergePatch } from "../kit/json.ts";
import { appendAll } from "../kit/limits/lists.ts";
import { adviseOnConfig } from "./advice.ts";
import {
  LEGACY_DEFAULTS_WARNING,
  toKubeletConfig,
  withDefaults,
  withGateDefaults,
} from "./fields/defaults.ts";
import type { Effect } from "./fields/field-types.ts";
import { FIELDS, type FieldPath, fieldAt } from "./fields/fields.ts";
import { type ConfigText, decodeConfigText } from "./file/config-text.ts";
import { encodeConfig } from "./file/encode-config.ts";
import type { FlagSetting, ParsedFlags } from "./flags/flags.ts";
import { DEFAULT_FLAGS, type KubeletFlags } from "./flags/kubelet-flags.ts";
import { validateFlags } from "./flags/validate-flags.ts";
import { type FeatureGates, type GateSettings, resolveGates } from "./gates/feature-gates.ts";
import { bareNodeDefaults } from "./hardening.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { locateProblem, type Origin, OriginBook, type Origins } from "./origins.ts";
import { folderOf, resolvePath } from "./paths.ts";
import { type ConfigProblem, formatConfigProblem, type SourcePlace } from "./problem.ts";
import { releaseOf } from "./release.ts";
import { getAt, type JsonObject, setAt } from "./tree.ts";
import { validateConfig } from "./validation/validate.ts";

/** All that the configuration is made of, as text. */
interface ConfigSources {
  readonly flags: ParsedFlags;
  /** The file of `--config`; `undefined` without that flag or when it could not be read. */
  readonly base?: ConfigText;
  /** The files of `--config-dir` in the order they apply. */
  readonly dropIns: readonly ConfigText[];
  /** Working folder, absolute; relative paths of flags and drop-ins start there. */
  readonly cwd: string;
}

/** A setting that was made and changes nothing. */
export interface IdleSetting {
  readonly path: FieldPath;
  readonly effect: Exclude<Effect, "active">;
  readonly origin: Origin;
}

/** The configuration of a run. It must not be used while there are `problems`. */
export interface LoadedConfig {
  readonly config: KubeletConfig;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly origins: Origins;
  /** Logged once at start; not a problem. */
  readonly warnings: readonly string[];
  readonly problems: readonly ConfigProblem[];
  /** Whether all files and flags could be read: only then `config` is what they say, valid or not. */
  readonly isComplete: boolean;
  /** Paths of the files that it was read from: the main file, then the drop-ins. */
  readonly files: readonly string[];
  /** Settings made by the user that nodelet does not act on. */
  readonly noEffect: readonly IdleSetting[];
}

/** Paths in the main file that start at the file's folder when relative. */
const FILE_PATHS: readonly FieldPath[] = [
  "staticPodPath",
  "authentication.x509.clientCAFile",
  "tlsCertFile",
  "tlsPrivateKeyFile",
  "resolvConf",
  "volumePluginDir",
  "podLogsDir",
];

/** The same for the command line and drop-ins; podLogsDir must be absolute there. */
const WORKING_PATHS: readonly FieldPath[] = FILE_PATHS.filter((path) => path !== "podLogsDir");

const FLAG_PATHS = [
  "config",
  "configDir",
  "kubeconfig",
  "bootstrapKubeconfig",
  "certDir",
  "rootDir",
  "imageCredentialProviderConfig",
  "imageCredentialProviderBinDir",
  "imagePolicy",
  "lockFile",
] as const;

/**
 * Puts the configuration together: defaults, then the main file, then the drop-ins, then the flags, the
 * later winning; feature gates of all are merged. Pure; what is wrong is returned, never thrown.
 */
export function assembleConfig(sources: ConfigSources): LoadedConfig {
  const { flags, cwd } = sources;
  const problems: ConfigProblem[] = [...flags.problems];
  const book = new OriginBook();
  const base = isBareNode(sources)
    ? withDefaults(bareDefaults(sources))
    : decodeBase(sources.base, book, problems);
  const merged = mergeDropIns(base, sources.dropIns, book, problems);
  const isComplete = problems.length === 0;
  const release = releaseOf(compatSetting(merged, flags.settings));
  const resolved = resolveGates(gateSettings(merged, flags.settings), release);
  const complete = withGateDefaults(merged, resolved.gates, release);
  const fields = withPaths(applyFlags(complete, flags.settings, book), WORKING_PATHS, cwd);
  const config = toKubeletConfig(fields);
  const ownFlags = withAbsolutePaths(flags.flags, cwd);
  const origins = book.origins();
  const found = [...resolved.problems, ...validateConfig(config, resolved.gates)];
  appendAll(problems, validateFlags(ownFlags));
  appendAll(
    problems,
    found.map((problem) => withPlace(problem, locateProblem(origins, problem.path))),
  );
  return {
    config,
    flags: ownFlags,
    gates: resolved.gates,
    origins,
    warnings: [
      ...(ownFlags.config === "" ? [LEGACY_DEFAULTS_WARNING] : []),
      ...flags.warnings,
      ...resolved.warnings,
      ...adviseOnConfig(config, resolved.gates),
    ],
    problems: withoutRepeats(problems),
    isComplete,
    files: [...(sources.base ? [sources.base] : []), ...sources.dropIns].map(({ path }) => path),
    noEffect: findIdle(config, origins),
  };
}

/** Whether nothing says what the node is to be. A flag or two do not: they change what it is without them. */
function isBareNode({ flags: { flags }, base, dropIns }: ConfigSources): boolean {
  const named = [flags.config, flags.configDir, flags.kubeconfig, flags.bootstrapKubeconfig];
  return base === undefined && dropIns.length === 0 && named.every((path) => path === "");
}

/** What such a node has by default. A certificate that flags name comes with its own key. */
function bareDefaults({ flags, cwd }: ConfigSources): JsonObject {
  const defaults = bareNodeDefaults(resolvePath(cwd, flags.flags.certDir));
  const isNamed = flags.settings.some(({ path }) => CERTIFICATE_FIELDS.includes(path));
  if (!isNamed) return defaults;
  return CERTIFICATE_FIELDS.reduce((tree, path) => setAt(tree, path, ""), defaults);
}

const CERTIFICATE_FIELDS: readonly string[] = ["tlsCertFile", "tlsPrivateKeyFile"];

/**
 * The main file with its defaults. They are filled in before the drop-ins are merged, as upstream does:
 * a drop-in that names one hard eviction threshold keeps the others' defaults, while the main file
 * naming one drops them.
 */
function decodeBase(
  base: ConfigText | undefined,
  book: OriginBook,
  problems: ConfigProblem[],
): JsonObject {
  if (base === undefined) return withDefaults({});
  const decoded = decodeConfigText(base, false);
  appendAll(problems, decoded.problems);
  book.addFile(decoded.fields, { kind: "file", path: base.path, lineOf: decoded.lineOf });
  return withDefaults(withPaths(decoded.fields, FILE_PATHS, folderOf(base.path)));
}

function mergeDropIns(
  base: JsonObject,
  dropIns: readonly ConfigText[],
  book: OriginBook,
  problems: ConfigProblem[],
): JsonObject {
  let merged = base;
  for (const file of dropIns) {
    const decoded = decodeConfigText(file, true);
    appendAll(problems, decoded.problems);
    book.addFile(decoded.fields, { kind: "dropIn", path: file.path, lineOf: decoded.lineOf });
    merged = mergePatch(merged, decoded.fields) as JsonObject;
  }
  return withDefaults(merged);
}

/** What `compat` is set to, flags before files. */
function compatSetting(fields: JsonObject, settings: readonly FlagSetting[]): unknown {
  const flag = settings.findLast(({ path }) => path === "compat");
  return flag === undefined ? getAt(fields, "compat") : flag.value;
}

function gateSettings(fields: JsonObject, settings: readonly FlagSetting[]): GateSettings {
  const gates = new Map<string, boolean>();
  const add = (value: JsonValue | undefined): void => {
    if (!isTree(value)) return;
    for (const [name, on] of Object.entries(value)) {
      if (typeof on === "boolean") gates.set(name, on);
    }
  };
  add(getAt(fields, "featureGates"));
  for (const { path, value } of settings) if (path === "featureGates") add(value);
  return Object.fromEntries(gates);
}

function applyFlags(
  fields: JsonObject,
  settings: readonly FlagSetting[],
  book: OriginBook,
): JsonObject {
  let applied = fields;
  for (const { path, value, flag } of settings) {
    const before = getAt(applied, path);
    const merges = path === "featureGates" && isTree(value) && isTree(before);
    const next = merges ? { ...(before as JsonObject), ...(value as JsonObject) } : value;
    applied = setAt(applied, path, next);
    book.addFlag(path, value, flag);
  }
  return applied;
}

function withPaths(fields: JsonObject, paths: readonly FieldPath[], from: string): JsonObject {
  let resolved = fields;
  for (const path of paths) {
    const value = getAt(resolved, path);
    if (typeof value !== "string" || value === "" || value.startsWith("/")) continue;
    resolved = setAt(resolved, path, resolvePath(from, value));
  }
  return resolved;
}

function withAbsolutePaths(flags: KubeletFlags, cwd: string): KubeletFlags {
  const changed = FLAG_PATHS.filter((key) => flags[key] !== "").map(
    (key) => [key, resolvePath(cwd, flags[key])] as const,
  );
  return { ...DEFAULT_FLAGS, ...flags, ...Object.fromEntries(changed) };
}

function withPlace(problem: ConfigProblem, place: SourcePlace | undefined): ConfigProblem {
  return place === undefined ? problem : { ...problem, place };
}

function withoutRepeats(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  const byText = new Map(problems.map((problem) => [formatConfigProblem(problem), problem]));
  return [...byText.values()];
}

/** Settings that differ from their default and are not acted on. */
function findIdle(config: KubeletConfig, origins: Origins): readonly IdleSetting[] {
  const encoded = encodeConfig(config);
  return FIELDS.flatMap(({ path, effect }) => {
    const origin = origins.get(path);
    if (effect === "active" || origin === undefined || origin.kind === "default") return [];
    const same = JSON.stringify(getAt(encoded, path)) === JSON.stringify(fieldAt(path)?.default);
    return same ? [] : [{ path, effect, origin }];
  });
}
