/**
 * Asks programs for registry credentials (KEP-2133). Owns: the cache of their answers. Invariants: a program is
 * asked once for callers that want the same image at the same time; a program that fails costs its
 * credentials only; no answer is ever logged.
 */
import { LRUCache } from "lru-cache";
import type { JsonValue } from "../../api/generated/types.ts";
import { parseYamlDocument } from "../../api/yaml.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Counter, Histogram } from "../../kit/metrics.ts";
import type { Host } from "../../outside/host/host.ts";
import type { DockerConfig } from "./keyring.ts";
import {
  type CredentialProvider,
  providerMatches,
  providerRequest,
  readProviderAnswer,
  readProviderConfig,
} from "./provider-config.ts";

/** Where configuration and programs are; absolute paths. */
export interface CredentialProgramsOptions {
  /** A file, or a folder whose `.yaml`, `.yml` and `.json` files are taken in the order of their names. */
  readonly configPath: string;
  readonly binFolder: string;
}

/** What asking programs stands on. */
export interface CredentialProgramsDeps {
  readonly host: Pick<Host, "files" | "runProgram">;
  readonly clock: Clock;
  readonly log: Log;
  readonly duration: Histogram;
  readonly errors: Counter;
  /** Ends programs that run when the agent leaves. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
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
    for (const path of await configFiles(options.configPath, deps)) {
      const text = await files.readText(path, { maxBytes: MAX_CONFIG_BYTES });
      const read = readProviderConfig(decode(text ?? "", path));
      if (read.kind === "faults") throw new UsageError(`${path}: ${read.faults.join("; ")}`);
      providers.push(...read.providers);
    }
    for (const { name } of providers) {
      const path = `${options.binFolder}/${name}`;
      const facts = await files.facts(path, { follow: true });
      if (facts?.kind !== "file" || (facts.mode & 0o111) === 0)
        throw new UsageError(`plugin binary executable ${path} did not exist`);
    }
    return new CredentialPrograms(options, providers, deps);
  }

  /** What the programs have for an image's repository, one configuration for each program that is meant. */
  async credentialsFor(repository: string): Promise<readonly DockerConfig[]> {
    const meant = this.#providers.filter((provider) => providerMatches(provider, repository));
    return await Promise.all(meant.map((provider) => this.#ask(provider, repository)));
  }

  #ask(provider: CredentialProvider, repository: string): Promise<DockerConfig> {
    const cached = this.#cached(provider, repository);
    if (cached) return Promise.resolve(cached);
    const key = `${provider.name} ${repository}`;
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    const asking = this.#run(provider, repository).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  #cached(provider: CredentialProvider, repository: string): DockerConfig | undefined {
    const now = this.#deps.clock.monotonic();
    for (const key of [repository, registryPart(repository), ""]) {
      const entry = this.#cache.get(`${provider.name} ${key}`);
      if (entry && now <= entry.untilMs) return entry.config;
    }
    return undefined;
  }

  async #run(provider: CredentialProvider, repository: string): Promise<DockerConfig> {
    const { clock, log, duration, errors, signal } = this.#deps;
    const labels = { plugin_name: provider.name };
    const began = clock.monotonic();
    try {
      const result = await this.#deps.host.runProgram?.(
        {
          path: `${this.#options.binFolder}/${provider.name}`,
          args: provider.args,
          env: provider.env,
          input: providerRequest(provider, repository),
          timeoutMs: TIMEOUT_MS,
          maxOutputBytes: MAX_OUTPUT_BYTES,
        },
        signal,
      );
      if (result?.code !== 0) {
        errors.add(labels);
        const why = result?.by || `exit status ${result?.code}`;
        throw new Error(`${why}: ${(result?.stderr ?? "").trim().slice(0, QUOTED_CHARS)}`);
      }
      const answer = readProviderAnswer(provider, result.stdout);
      const key = { Image: repository, Registry: registryPart(repository), Global: "" };
      const keepMs = answer.cacheMs ?? provider.defaultCacheMs;
      const config = answer.auth;
      if (keepMs > 0)
        this.#cache.set(`${provider.name} ${key[answer.cacheKeyType]}`, {
          config,
          untilMs: clock.monotonic() + keepMs,
        });
      return config;
    } catch (error) {
      if (signal.aborted) throw error;
      log.error("failed getting credentials from a credential provider", {
        provider: provider.name,
        image: repository,
        problem: messageOf(error),
      });
      return {};
    } finally {
      duration.observe((clock.monotonic() - began) / 1000, labels);
    }
  }
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
