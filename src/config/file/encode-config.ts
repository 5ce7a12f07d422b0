// pure
import type { JsonValue } from "../../api/generated/types.ts";
import { formatDuration } from "../../api/text/duration.ts";
import { FIELDS } from "../fields/fields.ts";
import { CONFIG_API_VERSION, CONFIG_KIND, type KubeletConfig } from "../kubelet-config.ts";
import { getAt, type JsonObject, setAt } from "../tree.ts";

/** The configuration as a file: all fields, durations in Go's spelling, with identity. */
export function encodeConfig(config: KubeletConfig): JsonObject {
  let encoded: JsonObject = { apiVersion: CONFIG_API_VERSION, kind: CONFIG_KIND };
  const typed = config as unknown as JsonObject;
  for (const { path, type } of FIELDS) {
    const value: JsonValue | undefined = getAt(typed, path);
    if (value === undefined) continue;
    const written =
      type.kind === "duration" && typeof value === "number" ? formatDuration(value) : value;
    encoded = setAt(encoded, path, written);
  }
  return encoded;
}
