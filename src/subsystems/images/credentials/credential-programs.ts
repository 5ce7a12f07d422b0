/**
 * Asks programs for registry credentials (KEP-2133). Owns: the cache of their answers. Invariants: a program is
 * asked once for callers that need the same image at the same time; a program that fails costs its
 * credentials only; neither answers nor tokens are ever logged.
 */

import { LRUCache } from "lru-cache";
import type { JsonValue } from "../../../api/generated/types.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { parseYamlDocument } from "../../../api/text/yaml.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, messageOf, UsageError } from "../../../kit/errors.ts";
import { allValues, inParallel } from "../../../kit/in-parallel.ts";
import { appendAll } from "../../../kit/limits/lists.ts";
import type { Log } from "../../../kit/log.ts";
import type { Counter, Histogram } from "../../../kit/metrics.ts";
import { sha256Hex } from "../../../outside/digest.ts";
import type { Host } from "../../../outside/host/host.ts";
import type { AccountSource, DockerConfig, KeyringPart } from "./keyring.ts";
import type { PodAccountPort } from "./pod-account.ts";
import {
  type AccountInRequest,
  type CredentialProvider,
  type ProviderAnswer,
  providerMatches,
  providerRequest,
  readProviderAnswer,
  readProviderConfig,
} from "./provider-config.ts";
import { annotationsFor } from "./token-attributes.ts";

/** Absolute paths of configuration and programs. */
interface CredentialProgramsOptions {
  /** A file, or a folder whose `.yaml`, `.yml` and `.json` files are taken in the order of their names. */
  readonly configPath: string;
  readonly binFolder: string;
}

interface CredentialProgramsDeps {
  readonly host: Pick<Host, "files" | "runProgram">;
  readonly clock: Clock;
  readonly log: Log;
  /** Service accounts and tokens for credential programs that need them. */
  readonly accounts: PodAccountPort;
  readonly duration: Histogram<"plugin_name">;
  readonly errors: Counter<"plugin_name">;
  /** Called with the hash of the configuration that is used. */
  readonly onConfig?: (hash: string) => void;
  /** Ends programs that run when the agent leaves. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
/** Programs asked at once for one pull. */
const MAX_PROGRAMS = 8;
const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const CACHED_ANSWERS = 1_000;
/** Bytes of what a program complained about that are logged. */
const QUOTED_CHARS = 500;

interface CachedAnswer {
  readonly config: DockerConfig;
  readonly untilMs: number;
}

/** See the head of this file. */
export class CredentialPrograms {
  readonly #options: CredentialProgramsOptions;
  readonly #providers: readonly CredentialProvider[];
  readonly #deps: CredentialProgramsDeps;
  readonly #cache = new LRUCache<string, CachedAnswer>({ max: CACHED_ANSWERS });
  readonly #asking = new Map<string, Promise<DockerConfig>>();

  private constructor(
    options: CredentialProgramsOptions,
    providers: readonly CredentialProvider[],
    deps: CredentialProgramsDeps,
  ) {
    this.#options = options;
    this.#providers = providers;
    this.#deps = deps;
  }

  /** Reads the configuration; throws `UsageError` for one that cannot be used, missing programs included. */
  static async load(
    options: CredentialProgramsOptions,
    deps: CredentialProgramsDeps,
  ): Promise<CredentialPrograms> {
    const { files, runProgram } = deps.host;
    if (!runProgram)
      throw new UsageError("--image-credential-provider-config: programs cannot be run here");
    const providers: CredentialProvider[] = [];
    let hashed = "";
    for (const path of await configFiles(options.configPath, deps)) {
      const text = await files.readText(path, { maxBytes: MAX_CONFIG_BYTES });
      hashed = sha256Hex(`${hashed}${text ?? ""}`);
      const read = readProviderConfig(decode(text ?? "", path));
      if (read.kind === "faults") throw new UsageError(`${path}: ${read.faults.join("; ")}`);
      appendAll(providers, read.providers);
    }
    for (const { name } of providers) {
      const path = `${options.binFolder}/${name}`;
      const facts = await files.facts(path, { follow: true });
      if (facts?.kind !== "file" || (facts.mode & 0o111) === 0)
        throw new UsageError(`plugin binary executable ${path} did not exist`);
    }
    deps.onConfig?.(`sha256:${hashed}`);
    return new CredentialPrograms(options, providers, deps);
  }

  /** Credentials from the matching programs for an image's repository, on behalf of a pod. */
  async credentialsFor(
    repository: string,
    pod: IdentifiedPod,
    signal: AbortSignal,
  ): Promise<readonly KeyringPart[]> {
    const meant = this.#providers.filter((provider) => providerMatches(provider, repository));
    const ask = async (provider: CredentialProvider): Promise<KeyringPart | undefined> => {
      const identity = await this.#identify(provider, pod, signal);
      if (identity === undefined) return undefined;
      const config = await this.#ask({ provider, repository, ...identity });
      return identity.account ? { config, account: identity.account } : { config };
    };
    const parts = allValues(await inParallel(meant, MAX_PROGRAMS, ask));
    return parts.filter((part) => part !== undefined);
  }

  /** The identity for the program; `undefined` when it is not run for this pod. */
  async #identify(
    { name, token: tokenAttributes }: CredentialProvider,
    pod: IdentifiedPod,
    signal: AbortSignal,
  ): Promise<Identity | undefined> {
    if (!tokenAttributes) return NOBODY;
    const { accounts, log } = this.#deps;
    if ((pod.spec?.serviceAccountName ?? "") === "")
      return tokenAttributes.requireAccount ? undefined : NOBODY;
    try {
      const account = await accounts.account(pod, signal);
      if (!account) return undefined;
      const annotations = annotationsFor(tokenAttributes, account.annotations);
      if (!annotations) {
        log.verbose(
          4,
          "a service account is without an annotation that a credential provider requires",
          {
            provider: name,
            serviceAccount: `${account.namespace}/${account.name}`,
          },
        );
        return undefined;
      }
      const token = await accounts.token(pod, account, tokenAttributes.audience, signal);
      const { uid, namespace, name: accountName } = account;
      const ofToken =
        tokenAttributes.cacheType === "Token" ? [pod.metadata?.uid, sha256Hex(token)] : [];
      return {
        account: { uid, namespace, name: accountName },
        accountInRequest: { token, annotations },
        scope: JSON.stringify([namespace, accountName, uid, annotations, ...ofToken]),
      };
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      log.error("failed getting the service account for a credential provider", {
        provider: name,
        pod: podDisplayName(pod),
        error,
      });
      return undefined;
    }
  }

  #ask(question: Question): Promise<DockerConfig> {
    const cached = this.#cached(question);
    if (cached) return Promise.resolve(cached);
    const key = cacheKey(question, question.repository);
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    const asking = this.#run(question).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  #cached(question: Question): DockerConfig | undefined {
    const now = this.#deps.clock.monotonic();
    const { repository } = question;
    for (const key of [repository, registryPart(repository), ""]) {
      const entry = this.#cache.get(cacheKey(question, key));
      if (entry && now <= entry.untilMs) return entry.config;
    }
    return undefined;
  }

  async #run(question: Question): Promise<DockerConfig> {
    const { clock, log, duration, signal } = this.#deps;
    const { provider, repository } = question;
    const began = clock.monotonic();
    try {
      const answer = await this.#execute(question);
      const key = { Image: repository, Registry: registryPart(repository), Global: "" };
      const keepMs = answer.cacheMs ?? provider.defaultCacheMs;
      const config = answer.auth;
      if (keepMs > 0)
        this.#cache.set(cacheKey(question, key[answer.cacheKeyType]), {
          config,
          untilMs: clock.monotonic() + keepMs,
        });
      return config;
    } catch (error) {
      if (signal.aborted) throw error;
      log.error("failed getting credentials from a credential provider", {
        provider: provider.name,
        image: repository,
        error,
      });
      return {};
    } finally {
      duration.observe((clock.monotonic() - began) / 1000, { plugin_name: provider.name });
    }
  }

  async #execute({ provider, repository, accountInRequest }: Question): Promise<ProviderAnswer> {
    const { host, errors, signal } = this.#deps;
    const result = await host.runProgram?.(
      {
        path: `${this.#options.binFolder}/${provider.name}`,
        args: provider.args,
        env: provider.env,
        input: providerRequest(provider, repository, accountInRequest),
        timeoutMs: TIMEOUT_MS,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      },
      signal,
    );
    if (result?.code !== 0) {
      errors.add({ plugin_name: provider.name });
      const why = result?.by || `exit status ${result?.code}`;
      throw new Error(`${why}: ${(result?.stderr ?? "").trim().slice(0, QUOTED_CHARS)}`);
    }
    return readProviderAnswer(provider, result.stdout);
  }
}

/** The identity for a program, and the cache key of its answers. */
interface Identity {
  readonly account?: AccountSource;
  readonly accountInRequest?: AccountInRequest;
  /** Part of the cache's key. */
  readonly scope: string;
}

const NOBODY: Identity = { scope: "" };

interface Question extends Identity {
  readonly provider: CredentialProvider;
  readonly repository: string;
}

function cacheKey({ provider, scope }: Question, key: string): string {
  return JSON.stringify([provider.name, scope, key]);
}

function registryPart(repository: string): string {
  return repository.split("/")[0] ?? "";
}

async function configFiles(
  path: string,
  { host }: CredentialProgramsDeps,
): Promise<readonly string[]> {
  const facts = await host.files.facts(path, { follow: true });
  if (!facts) throw new UsageError(`--image-credential-provider-config: ${path} does not exist`);
  if (facts.kind !== "directory") return [path];
  const entries = (await host.files.list(path)) ?? [];
  const names = entries.filter(({ name }) => /\.(ya?ml|json)$/.test(name)).map(({ name }) => name);
  if (names.length === 0)
    throw new UsageError(`--image-credential-provider-config: ${path} holds no configuration`);
  return names.map((name) => `${path}/${name}`);
}

function decode(text: string, path: string): JsonValue {
  try {
    return parseYamlDocument(text).value as JsonValue;
  } catch (error) {
    throw new UsageError(`${path}: ${messageOf(error)}`);
  }
}
