import { shownUrl } from "../../api/text/shown-url.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Net } from "../../outside/net/net.ts";
import type { ManifestRead, ReadManifest } from "./manifest.ts";
import type { SourcedPod, SourceProblem } from "./merge.ts";

/** Largest answer that is read. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The whole exchange takes no longer (config/http.go client timeout). */
const TIMEOUT_MS = 10_000;

/** The URL, and the polling interval. */
interface HttpSourceOptions {
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly everyMs: number;
}

interface HttpSourceDeps {
  readonly net: Net;
  readonly clock: Clock;
  readonly readManifest: ReadManifest;
  /** Called after each request. `pods` are those of the last usable answer; absent while there was none. */
  readonly onChange: (
    pods: readonly SourcedPod[] | undefined,
    problems: readonly SourceProblem[],
  ) => void;
  /** Called whenever the URL has answered with something to read, usable or not. */
  readonly onRead: () => void;
}

/**
 * Asks a URL for a Pod or PodList again and again; run it with policy `restart`. An empty body and an empty list mean
 * that there are no pods. A failure, another status and a body that cannot be used mean nothing: the pods of the last
 * usable answer stay.
 */
export async function followHttp(
  options: HttpSourceOptions,
  deps: HttpSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  const origin = shownUrl(options.url);
  let pods: readonly SourcedPod[] | undefined;
  let usedBody: string | undefined;
  while (!signal.aborted) {
    const answer = await ask(options, deps, signal);
    if (signal.aborted) return;
    if (answer.kind === "body") deps.onRead();
    const problem = (message: string): readonly SourceProblem[] => [{ origin, message }];
    if (answer.kind === "failed") deps.onChange(pods, problem(masked(answer.message)));
    else if (answer.body === usedBody) deps.onChange(pods, []);
    else {
      const read = podsOf(answer.body, options, deps);
      if (read.kind === "refused") deps.onChange(pods, problem(read.message));
      else {
        pods = read.pods;
        usedBody = answer.body;
        deps.onChange(pods, []);
      }
    }
    await deps.clock.sleep(options.everyMs, signal).catch(() => {});
  }
}

function podsOf(
  body: string,
  { url }: HttpSourceOptions,
  { readManifest }: HttpSourceDeps,
): ManifestRead {
  return body === "" ? { kind: "pods", pods: [] } : readManifest(body, "http", url);
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
  return { kind: "body", body: answer.body };
}
