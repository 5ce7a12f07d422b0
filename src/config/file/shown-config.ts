// pure
import { shownUrl } from "../../api/text/shown-url.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import type { JsonObject } from "../tree.ts";
import { encodeConfig } from "./encode-config.ts";

const MASKED = ["<masked>"];

/** The configuration as it is logged: the URL of manifests and its headers may hold credentials. */
export function shownConfig(config: KubeletConfig): JsonObject {
  const headers = Object.keys(config.staticPodURLHeader).map((name) => [name, MASKED] as const);
  return encodeConfig({
    ...config,
    staticPodURL: shownUrl(config.staticPodURL),
    staticPodURLHeader: Object.fromEntries(headers),
  });
}
