import { LRUCache } from "lru-cache";
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { ACCESS_REVIEWS, type KubeClient, TOKEN_REVIEWS } from "../../outside/kube/kube.ts";
import type { Identity } from "../identity.ts";
import type { Authentication, Authenticator } from "./authenticate.ts";
import type { Authorizer } from "./authorize.ts";

/** Authentication and authorization by an API server, for callers that certificates and configuration do not decide. */
export interface Delegated {
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
}

interface DelegatedDeps {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
}

/** Answers that are kept of each kind (webhook.go: 8192). */
const CACHE_ENTRIES = 8192;
/** Answers about longer questions are not kept: the caller chooses the length (maxControllerAttrCacheSize). */
const MAX_CACHED_QUESTION = 10_000;
/** A token that is longer is none. */
const MAX_TOKEN = 64 * 1024;

/** Authentication and authorization by the API server (webhook), as configured. */
export function delegatedTo(
  { authentication, authorization }: KubeletConfig,
  deps: DelegatedDeps,
): Delegated {
  const { enabled, cacheTTL } = authentication.webhook;
  const { cacheAuthorizedTTL, cacheUnauthorizedTTL } = authorization.webhook;
  return {
    authenticators: enabled ? [tokenAuthenticator(cacheTTL, deps)] : [],
    authorizer: reviewAuthorizer(
      { allowedMs: cacheAuthorizedTTL, deniedMs: cacheUnauthorizedTTL },
      deps,
    ),
  };
}

/** Answers by question, each as long as it was given; several who ask the same at once ask once. */
class AnswerCache<T extends object> {
  readonly #clock: Clock;
  readonly #kept = new LRUCache<string, { readonly answer: T; readonly until: MonotonicMs }>({
    max: CACHE_ENTRIES,
  });
  readonly #asking = new Map<string, Promise<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async get(question: string, ask: () => Promise<T>, ttlMs: (answer: T) => number): Promise<T> {
    const now = this.#clock.monotonic();
    const known = this.#kept.get(question);
    if (known && now < known.until) return known.answer;
    const asking = this.#asking.get(question) ?? this.#ask(question, ask, ttlMs);
    this.#asking.set(question, asking);
    return await asking;
  }

  async #ask(question: string, ask: () => Promise<T>, ttlMs: (answer: T) => number): Promise<T> {
    try {
      const answer = await ask();
      const until = (this.#clock.monotonic() + ttlMs(answer)) as MonotonicMs;
      if (question.length <= MAX_CACHED_QUESTION) this.#kept.set(question, { answer, until });
      return answer;
    } finally {
      this.#asking.delete(question);
    }
  }
}

/** Asks the API server whose token it is; both answers are kept for `cacheMs`. */
export function tokenAuthenticator(
  cacheMs: number,
  { client, clock }: DelegatedDeps,
): Authenticator {
  const cache = new AnswerCache<Authentication>(clock);
  // The first caller may cancel: the answer is for all that wait.
  const { signal } = new AbortController();
  const ask = async (token: string): Promise<Authentication> => {
    const { status } = await client.create(TOKEN_REVIEWS, {}, { spec: { token } }, signal);
    const { username = "", groups = [], uid, extra } = status?.user ?? {};
    if (status?.authenticated !== true || username === "")
      return { kind: "refused", why: status?.error || "the API server rejected the token" };
    const identity: Identity = {
      name: username,
      groups,
      ...(uid === undefined ? {} : { uid }),
      ...(extra ? { extra } : {}),
    };
    return { kind: "identity", identity };
  };
  return {
    authenticate: async ({ bearerToken }) => {
      if (bearerToken === undefined) return { kind: "nothing" };
      if (bearerToken.length > MAX_TOKEN) return { kind: "refused", why: "the token is too long" };
      try {
        return await cache.get(
          bearerToken,
          () => ask(bearerToken),
          () => cacheMs,
        );
      } catch (error) {
        if (!isOutside(error)) throw error;
        return { kind: "refused", why: `the API server cannot be asked: ${messageOf(error)}` };
      }
    },
  };
}

/** Asks the API server what a caller may do. */
export function reviewAuthorizer(
  { allowedMs, deniedMs }: { readonly allowedMs: number; readonly deniedMs: number },
  { client, clock }: DelegatedDeps,
): Authorizer {
  const cache = new AnswerCache<{ readonly verdict: "allow" | "deny" }>(clock);
  const { signal } = new AbortController();
  return {
    authorize: async ({ identity, verb, resource, name, subresource }) => {
      const { name: user, groups, uid, extra } = identity;
      const spec = {
        user,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(extra ? { extra } : {}),
        resourceAttributes: { verb, version: "v1", resource, name, subresource },
      };
      const ask = async () => {
        const { status } = await client.create(ACCESS_REVIEWS, {}, { spec }, signal);
        return { verdict: status?.allowed === true ? "allow" : "deny" } as const;
      };
      const ttlMs = ({ verdict }: { readonly verdict: "allow" | "deny" }) =>
        verdict === "allow" ? allowedMs : deniedMs;
      return (await cache.get(JSON.stringify(spec), ask, ttlMs)).verdict;
    },
  };
}
