// pure
import type { JsonValue } from "../../api/generated/types.ts";
import { formatDuration } from "../../api/text/duration.ts";
import { fieldAt } from "../fields/fields.ts";
import { FLAGS } from "./flag-table.ts";
import { FLAG_GROUPS, type FlagSpec, type FlagType } from "./flag-types.ts";
import { DEFAULT_FLAGS } from "./kubelet-flags.ts";

const WIDTH = 100;
const INDENT = 8;

/** Placeholder of the value in the help text; empty for boolean flags. */
const VALUE_NAME: Readonly<Record<FlagType, string>> = {
  bool: "",
  string: "text",
  int32: "number",
  int64: "number",
  level: "level",
  duration: "duration",
  quantity: "quantity",
  ip: "address",
  strings: "a,b,...",
  int32s: "1,2,...",
  map: "name=value,...",
  mapNoSplit: "name=value",
  mapBool: "Feature=true|false,...",
  thresholds: "signal<amount,...",
  headers: "name:value,...",
  labels: "key=value,...",
  reservedMemory: "node:type=quantity,...",
  taints: "key=value:effect,...",
  vmodule: "pattern=level,...",
  inspector: "[=host:port]",
  page: "[=address:port]",
  version: "version[=true|raw|vX.Y.Z]",
};

/**
 * The help text of `nodelet run`: flags by group, deprecated ones last, texts aligned and wrapped at 100
 * columns, no colour. `command` is what the user typed, e.g. `nodelet run`.
 */
export function renderFlagHelp(command: string): string {
  const sections = FLAG_GROUPS.map((group) => {
    const flags = FLAGS.filter((flag) => flag.group === group && !isSilent(flag));
    return [`${group}:`, ...flags.sort(byName).flatMap(renderFlag)].join("\n");
  });
  const silent = FLAGS.filter(isSilent).sort(byName);
  const list = wrap(silent.map(({ name }) => `--${name}`).join(" "), WIDTH - 2);
  return [
    `Usage: ${command} [flags]`,
    "Flags override the files of --config and --config-dir.",
    ...sections,
    ["Removed from Kubernetes, accepted where harmless:", ...list.map((l) => `  ${l}`)].join("\n"),
  ]
    .join("\n\n")
    .concat("\n");
}

function isSilent(flag: FlagSpec): boolean {
  return flag.target.kind === "ignored" || flag.target.kind === "refused";
}

function byName(a: FlagSpec, b: FlagSpec): number {
  return a.name < b.name ? -1 : 1;
}

function renderFlag(flag: FlagSpec): readonly string[] {
  const letter = flag.short === undefined ? "    " : `-${flag.short}, `;
  const value = flag.type === "version" ? "[=raw]" : VALUE_NAME[flag.type];
  const separator = value === "" || value.startsWith("[") ? "" : " ";
  const words = [flag.about, defaultText(flag), deprecationText(flag)].filter((w) => w !== "");
  const lines = wrap(words.join(" "), WIDTH - INDENT);
  return [
    `  ${letter}--${flag.name}${separator}${value}`,
    ...lines.map((line) => " ".repeat(INDENT) + line),
  ];
}

function deprecationText(flag: FlagSpec): string {
  return flag.deprecated === undefined ? "" : `(${flag.deprecated})`;
}

function defaultText(flag: FlagSpec): string {
  const fallback = defaultOf(flag);
  if (fallback === undefined || fallback === "" || fallback === false) return "";
  if (typeof fallback === "object") {
    const entries = Array.isArray(fallback)
      ? fallback.map(String)
      : Object.entries(fallback ?? {}).map(
          ([name, value]) => `${name}${flag.type === "thresholds" ? "<" : "="}${String(value)}`,
        );
    return entries.length === 0 ? "" : `Default ${entries.join(", ")}.`;
  }
  return `Default ${String(fallback)}.`;
}

function defaultOf(flag: FlagSpec): JsonValue | undefined {
  if (flag.target.kind === "config") return fieldAt(flag.target.path)?.default;
  if (flag.target.kind !== "flag") return undefined;
  const value = DEFAULT_FLAGS[flag.target.key];
  if (flag.type === "version") return undefined;
  return flag.type === "duration" && typeof value === "number" ? formatDuration(value) : value;
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}
