import { shownUrl } from "../../api/text/shown-url.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Net } from "../../outside/net/net.ts";
import type { ReadManifest } from "./manifest.ts";
import type { SourcedPod, SourceProblem } from "./merge.ts";

/** Largest answer that is read. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The whole exchange takes no longer (config/http.go client timeout). */
const TIMEOUT_MS = 10_000;

/** The URL, and the polling interval. */
export interface HttpSourceOptions {
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly everyMs: number;
}

/** Dependencies for asking a URL. */
export interface HttpSourceDeps {
  readonly net: Net;
  readonly clock: Clock;
  readonly readManifest: ReadManifest;
  readonly onChange: (pods: readonly SourcedPod[], problems: readonly SourceProblem[]) => void;
  /** Called whenever the URL has answered with something to read, usable or not. */
  readonly onRead: () => void;
}

/** Asks a URL for a Pod or PodList again and again; run it with policy `restart`. */
export async function followHttp(
  options: HttpSourceOptions,
  deps: HttpSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  const origin = shownUrl(options.url);
  let pods: readonly SourcedPod[] = [];
  let lastBody: string | undefined;
  while (!signal.aborted) {
    const answer = await ask(options, deps, signal);
    if (answer.kind === "body") deps.onRead();
    if (answer.kind === "failed")
      deps.onChange(pods, [{ origin, message: masked(answer.message) }]);
    else if (answer.body !== lastBody) {
      const read = deps.readManifest(answer.body, "http", options.url);
      if (read.kind === "refused") deps.onChange(pods, [{ origin, message: read.message }]);
      else {
        pods = read.pods;
        lastBody = answer.body;
        deps.onChange(pods, []);
      }
    } else deps.onChange(pods, []);
    await deps.clock.sleep(options.everyMs, signal).catch(() => {});
  }
}

/** The message of a failed request without what its URL may hold; redirects may lead to further ones. */
function masked(message: string): string {
  return message.replaceAll(/"(https?:[^"]*)"/g, (_, url: string) => JSON.stringify(shownUrl(url)));
}

type Answer =
  | { readonly kind: "body"; readonly body: string }
  | { readonly kind: "failed"; readonly message: string };

async function ask(
  options: HttpSourceOptions,
  { net }: HttpSourceDeps,
  signal: AbortSignal,
): Promise<Answer> {
  const exchange = {
    url: options.url,
    method: "GET",
    headers: options.headers,
    timeoutMs: TIMEOUT_MS,
    maxBodyBytes: MAX_BODY_BYTES + 1,
    followSameHost: true,
  } as const;
  const answer = await net.http(exchange, signal).catch((error: unknown) => {
    if (!isOutside(error, "exhausted")) throw error;
    return { kind: "failure", message: error.message } as const;
  });
  if (answer.kind !== "response") return { kind: "failed", message: answer.message };
  if (answer.status !== 200) return { kind: "failed", message: `returned status ${answer.status}` };
  if (answer.body.length > MAX_BODY_BYTES) {
    return { kind: "failed", message: `returned more than ${MAX_BODY_BYTES} bytes` };
  }
  if (answer.body.trim() === "") return { kind: "failed", message: "returned an empty response" };
  return { kind: "body", body: answer.body };
}
