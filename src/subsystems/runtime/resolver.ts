import type { Files } from "../../outside/host/host.ts";
import { type ClusterDns, noResolver, parseResolvConf, resolvConfFault } from "./dns.ts";

/** Where the resolvers of pods come from. */
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

/**
 * The resolvers that pods can get. The node's file is read whenever a pod needs it: networks come and go
 * while the agent runs. What the file holds too much of is said once for each thing that is wrong.
 */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #files: Pick<Files, "readText">;
  readonly #recordFailure: (message: string) => void;
  #recorded: string | undefined;

  constructor(
    options: ResolverOptions,
    deps: {
      readonly files: Pick<Files, "readText">;
      /** Called with the message of the event CheckLimitsForResolvConf. */
      readonly recordFailure: (message: string) => void;
    },
  ) {
    this.#options = options;
    this.#files = deps.files;
    this.#recordFailure = deps.recordFailure;
  }

  /** The present configuration; a missing file counts as empty. Throws `OutsideError` if it cannot be read. */
  async read(): Promise<ClusterDns> {
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
