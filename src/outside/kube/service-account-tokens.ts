import type { TokenRequest } from "../../api/generated/types.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { KubeClient } from "./client.ts";
import { TOKEN_REQUESTS } from "./resources.ts";

/** A token of a service account for one pod. */
export interface TokenOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Its audiences; empty for the API server. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** The token ends with this pod. */
  readonly pod: { readonly name: string; readonly uid: string };
}

/** A token and until when it is good. */
export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresAt: WallMs;
}

/** Tokens of service accounts, asked of the API and kept as long as they are fresh. */
export interface ServiceAccountTokens {
  /**
   * A token that is good for a while yet; asked for again when it has gone four fifths of its way or is a
   * day old. Ask again every minute or so to keep a file fresh. Throws `OutsideError` when there is none
   * that is still good.
   */
  token(options: TokenOptions, signal: AbortSignal): Promise<ServiceAccountToken>;
  /** Forgets the tokens of a pod that is gone. */
  forget(podUid: string): void;
}

export interface TokenRequestDeps {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** token_manager.go: maxTTL and maxJitter. */
const MAX_AGE_MS = 24 * 3_600_000;
const JITTER_MS = 10_000;
/** Share of a token's life after which another is asked for. */
const FRESH_SHARE = 0.8;

interface Kept extends ServiceAccountToken {
  readonly podUid: string;
  /** From then on another is asked for. */
  readonly refreshAt: WallMs;
}

/** Tokens by way of a client of the API (`TokenRequest`). */
export class RequestedTokens implements ServiceAccountTokens {
  readonly #deps: TokenRequestDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #asking = new Map<string, Promise<Kept>>();

  constructor(deps: TokenRequestDeps) {
    this.#deps = deps;
  }

  async token(options: TokenOptions, signal: AbortSignal): Promise<ServiceAccountToken> {
    const { clock, log } = this.#deps;
    const key = JSON.stringify(options);
    const kept = this.#kept.get(key);
    if (kept && clock.wall() < kept.refreshAt) return kept;
    try {
      return await this.#ask(key, options, signal);
    } catch (error) {
      if (!kept || clock.wall() >= kept.expiresAt) throw error;
      const of = `${options.namespace}/${options.serviceAccount}`;
      log.warn("failed to renew a service account token; will retry", {
        serviceAccount: of,
        pod: options.pod.name,
        error,
      });
      return kept;
    }
  }

  forget(podUid: string): void {
    for (const [key, kept] of this.#kept) if (kept.podUid === podUid) this.#kept.delete(key);
  }

  /** Concurrent requests for the same token share one call. */
  #ask(key: string, options: TokenOptions, signal: AbortSignal): Promise<Kept> {
    const asking =
      this.#asking.get(key) ??
      this.#request(options, signal)
        .then((kept) => {
          this.#kept.set(key, kept);
          return kept;
        })
        .finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #request(options: TokenOptions, signal: AbortSignal): Promise<Kept> {
    const { client, clock, random } = this.#deps;
    const { namespace, serviceAccount, audiences, expirationSeconds, pod } = options;
    const issuedAt = clock.wall();
    const request: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      spec: {
        audiences,
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid },
      },
    };
    const place = { namespace, name: serviceAccount, subresource: "token" };
    const { status, spec } = await client.create(TOKEN_REQUESTS, place, request, signal);
    const token = status?.token ?? "";
    const expiresAt = parseTimestamp(status?.expirationTimestamp ?? "");
    if (token === "" || expiresAt === undefined)
      throw new OutsideError("invalid", "the response of the API server contains no token");
    const lifeMs = (spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const stale = expiresAt - lifeMs * (1 - FRESH_SHARE);
    const old = issuedAt + MAX_AGE_MS;
    const refreshAt = (Math.min(stale, old) - random.next() * JITTER_MS) as WallMs;
    return { token, expiresAt, refreshAt, podUid: pod.uid };
  }
}
