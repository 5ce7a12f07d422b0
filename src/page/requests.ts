/** Asking the agent for what the stream does not hold. */
import { useEffect, useState } from "preact/hooks";

/** An answer, or why there is none yet. */
export type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "loaded"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

/** Path prefix of the page's data, which are the agent's own routes. */
export const DATA = "/page/data/";

/**
 * The answer of a route, asked again every `everyMs` while it is shown and the page is visible, and at once when
 * `version` changes. An answer stays until the next one is there.
 */
export function useData<T>(path: string, everyMs: number, version: unknown = ""): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly path?: string }>({ kind: "loading" });
  useEffect(() => {
    const leave = new AbortController();
    const ask = async () => {
      if (document.hidden) return;
      const answer = await load<T>(path, leave.signal);
      if (!leave.signal.aborted) setLoaded({ ...answer, path });
    };
    void ask();
    const timer = setInterval(() => void ask(), everyMs);
    return () => {
      leave.abort();
      clearInterval(timer);
    };
  }, [path, everyMs, version]);
  return loaded.path === path ? loaded : { kind: "loading" };
}

async function load<T>(path: string, signal: AbortSignal): Promise<Loaded<T>> {
  try {
    const response = await fetch(DATA + path, { signal, cache: "no-store" });
    if (!response.ok)
      return { kind: "failed", message: `HTTP ${response.status}: ${await response.text()}` };
    return { kind: "loaded", value: (await response.json()) as T };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}
