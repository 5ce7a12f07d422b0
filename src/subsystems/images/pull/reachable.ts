/** Whether registries answer at all, for the rule that keeps what could not be pulled again. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import type { Net } from "../../../outside/net/net.ts";

const TIMEOUT_MS = 3_000;
/** So long an answer is believed. */
const BELIEVED_MS = 60_000;
const REGISTRIES = 256;
const HTTPS_PORT = 443;
/** Docker Hub's registry is not at the name that images have. */
const HOSTS: Readonly<Record<string, string>> = { "docker.io": "registry-1.docker.io" };

/** Checks registries, and caches the result for a minute. Mirrors of the runtime are not known here. */
export function createReachable(
  net: Pick<Net, "tcpConnect">,
  clock: Clock,
): (registry: string, signal: AbortSignal) => Promise<boolean> {
  const known = new LRUCache<string, { readonly answer: boolean; readonly untilMs: number }>({
    max: REGISTRIES,
  });
  return async (registry, signal) => {
    const now = clock.monotonic();
    const before = known.get(registry);
    if (before && now < before.untilMs) return before.answer;
    const { host, port } = addressOf(registry);
    let answer: boolean;
    try {
      answer = (await net.tcpConnect(host, port, TIMEOUT_MS, signal)).kind === "connected";
    } catch (error) {
      // The node has no descriptors for a connection: not known, and asked again the next time.
      if (isOutside(error, "exhausted")) return false;
      throw error;
    }
    known.set(registry, { answer, untilMs: now + BELIEVED_MS });
    return answer;
  };
}

function addressOf(registry: string): { readonly host: string; readonly port: number } {
  const colon = registry.lastIndexOf(":");
  const hasPort = colon > registry.lastIndexOf("]") && /^\d+$/.test(registry.slice(colon + 1));
  const name = hasPort ? registry.slice(0, colon) : registry;
  const host = (HOSTS[name] ?? name).replace(/^\[|\]$/g, "");
  return { host, port: hasPort ? Number(registry.slice(colon + 1)) : HTTPS_PORT };
}
