// pure
import type { JsonValue } from "../api/generated/types.ts";
import { formatDuration } from "../api/text/duration.ts";
import { shownUrl } from "../api/text/shown-url.ts";
import { isTree } from "../kit/json.ts";
import { encodeConfig } from "./file/encode-config.ts";
import { FLAGS } from "./flags/flag-table.ts";
import type { KubeletFlags } from "./flags/kubelet-flags.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { getAt } from "./tree.ts";

/** Flags whose values may hold credentials, and what is shown of them. */
const SHOWN: Readonly<Record<string, (value: JsonValue | undefined) => string>> = {
  "manifest-url": (value) => shownUrl(flagText(value)),
  "manifest-url-header": masked,
};

/**
 * Every flag that sets something with the value that is in force, whether a flag, a file or a default set it, by name
 * and as Go prints flags. Credentials are masked.
 */
export function flagsInForce(
  flags: KubeletFlags,
  config: KubeletConfig,
): Readonly<Record<string, string>> {
  const encoded = encodeConfig(config);
  const entries = FLAGS.flatMap(({ name, type, target }): (readonly [string, string])[] => {
    if (target.kind === "config") {
      const value = getAt(encoded, target.path);
      return [[name, (SHOWN[name] ?? flagText)(value)]];
    }
    if (target.kind !== "flag") return [];
    const value = flags[target.key];
    const isDuration = type === "duration" && typeof value === "number";
    return [[name, isDuration ? formatDuration(value) : flagText(value as JsonValue)]];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function masked(value: JsonValue | undefined): string {
  return isTree(value)
    ? flagText(Object.fromEntries(Object.keys(value).map((key) => [key, "<masked>"])))
    : "";
}

/** Lists in brackets, maps as `a=1,b=2`, as pflag prints them. */
function flagText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return `[${value.map(flagText).join(",")}]`;
  if (isTree(value))
    return Object.entries(value)
      .map(([key, inner]) => `${key}=${flagText(inner)}`)
      .join(",");
  return String(value);
}
