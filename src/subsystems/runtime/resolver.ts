import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Files } from "../../outside/host/host.ts";
import { type ClusterDns, noResolver, parseResolvConf, resolvConfFault } from "./dns.ts";

/** Sources of the pods' DNS settings. */
export interface ResolverOptions {
  /** The cluster's name servers and domain. */
  readonly servers: readonly string[];
  readonly domain: string;
  /** The node's own file; empty where pods are to get nothing of the node. */
  readonly resolvConf: string;
  readonly nodeIps: readonly string[];
}

/** Largest resolv.conf that is read. */
const MAX_BYTES = 64 * 1024;
/** Validity of a read: one pod asks twice in a row, and many are started at once. */
const FRESH_MS = 100;

/**
 * The resolvers that pods can get. The node's file is read when a pod needs it, at most ten times a second: networks
 * come and go while the agent runs. What the file holds too much of is reported once for each thing that is wrong.
 */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #files: Pick<Files, "readText">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #recordFailure: (message: string) => void;
  #latest: { readonly since: MonotonicMs; readonly dns: Promise<ClusterDns> } | undefined;
  #recorded: string | undefined;

  constructor(
    options: ResolverOptions,
    deps: {
      readonly files: Pick<Files, "readText">;
      readonly clock: Pick<Clock, "monotonic">;
      /** Called with the message of the event CheckLimitsForResolvConf. */
      readonly recordFailure: (message: string) => void;
    },
  ) {
    this.#options = options;
    this.#files = deps.files;
    this.#clock = deps.clock;
    this.#recordFailure = deps.recordFailure;
  }

  /**
   * The configuration, at most 100 ms old; a missing file counts as empty. Throws `OutsideError` if it cannot be
   * read.
   */
  read(): Promise<ClusterDns> {
    const now = this.#clock.monotonic();
    if (this.#latest && now - this.#latest.since < FRESH_MS) return this.#latest.dns;
    const latest = { since: now, dns: this.#read() };
    this.#latest = latest;
    latest.dns.catch(() => {
      if (this.#latest === latest) this.#latest = undefined;
    });
    return latest.dns;
  }

  async #read(): Promise<ClusterDns> {
    const { servers, domain, resolvConf, nodeIps } = this.#options;
    if (resolvConf === "") return { servers, domain, host: noResolver(nodeIps) };
    const text = await this.#files.readText(resolvConf, { maxBytes: MAX_BYTES });
    const dns = { servers, domain, host: parseResolvConf(text ?? "") };
    const fault = resolvConfFault(resolvConf, dns);
    if (fault !== undefined && fault !== this.#recorded) this.#recordFailure(fault);
    this.#recorded = fault;
    return dns;
  }
}
