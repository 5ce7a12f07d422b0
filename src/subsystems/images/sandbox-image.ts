// pure
/**
 * The images that the runtime needs for itself, from its description of itself (verbose CRI status). From
 * containerd 2.0 on, and with CRI-O, these are pinned in listings; older ones only say it here.
 */
import { asFields, type Fields } from "./fields.ts";

/** Names of the sandbox image and of other images pinned by the runtime's configuration. */
export function runtimeImages(description: Readonly<Record<string, string>>): readonly string[] {
  const config = parse(description["config"] ?? "");
  const pinned = asFields(config?.["pinnedImages"]) ?? {};
  const names = [config?.["sandboxImage"], ...Object.values(pinned)];
  return names.filter((name): name is string => typeof name === "string" && name !== "");
}

function parse(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return undefined;
  }
}
