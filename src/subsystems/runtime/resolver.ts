import type { NodeEvents } from "../../api/ports/events.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, OutsideError, UsageError } from "../../kit/errors.ts";
import type { FileFacts, Files } from "../../outside/host/host.ts";
import { type ClusterDns, NO_DNS, parseResolvConf, resolvConfFault } from "./dns.ts";

/** Sources of the pods' DNS settings. */
interface ResolverOptions {
  /** The cluster's name servers and domain. */
  readonly servers: readonly string[];
  readonly domain: string;
  /** The node's own file; empty where pods are to get nothing of the node. */
  readonly resolvConf: string;
  readonly nodeIps: readonly string[];
}

/** Largest resolv.conf that is read. */
const MAX_BYTES = 10 * 1024 * 1024;
/** The file that runtimes give to pods without a DNS configuration. */
const RUNTIME_FILE = "/etc/resolv.conf";
/** Validity of a read: one pod asks twice in a row, and many are started at once. */
const FRESH_MS = 100;
/** A file that changed more recently is read again each time: a second change within the resolution of its modification time leaves that as it is. */
const SETTLED_MS = 2_000;

/**
 * The resolvers that pods can get. The node's file is checked when a pod needs it, at most ten times a second, and read when it has
 * changed: networks come and go while the agent runs. What the file holds too much of is reported once for each thing that is wrong.
 */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #files: Pick<Files, "facts" | "readText">;
  readonly #clock: Pick<Clock, "monotonic" | "wall">;
  readonly #events: NodeEvents;
  #latest: { readonly since: MonotonicMs; readonly dns: Promise<ClusterDns> } | undefined;
  /** What the file held when it was last read, and what it was like just before. */
  #known: { readonly facts: FileFacts; readonly text: string } | undefined;
  #recorded: string | undefined;

  constructor(
    options: ResolverOptions,
    deps: {
      readonly files: Pick<Files, "facts" | "readText">;
      readonly clock: Pick<Clock, "monotonic" | "wall">;
      readonly events: NodeEvents;
    },
  ) {
    this.#options = options;
    this.#files = deps.files;
    this.#clock = deps.clock;
    this.#events = deps.events;
  }

  /**
   * The configuration, at most 100 ms old. Throws `OutsideError` if the file is missing or cannot be read, and `UsageError`
   * if it is damaged: pods must not get another resolver than the configured one.
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
    if (resolvConf === "") return { servers, domain, host: NO_DNS, nodeIps };
    try {
      const host = parseResolvConf(await this.#text(resolvConf));
      const path = resolvConf === RUNTIME_FILE ? {} : { path: resolvConf };
      const dns = { servers, domain, host, ...path };
      this.#report(resolvConfFault(resolvConf, dns));
      return dns;
    } catch (error) {
      if (isOutside(error) || error instanceof UsageError) this.#report(error.message);
      throw error;
    }
  }

  /** Reports what is wrong, once for as long as it stays so. */
  #report(message: string | undefined): void {
    if (message !== undefined && message !== this.#recorded)
      this.#events.ofNode({ type: "Warning", reason: "CheckLimitsForResolvConf", message });
    this.#recorded = message;
  }

  /** Asking for its facts is one way through Node's thread pool, reading it takes six. */
  async #text(path: string): Promise<string> {
    const facts = await this.#files.facts(path, { follow: true });
    if (facts && this.#known && isUnchanged(this.#known.facts, facts)) return this.#known.text;
    const isSettled = facts && Math.abs(this.#clock.wall() - facts.modifiedMs) > SETTLED_MS;
    const text = await this.#files.readText(path, { maxBytes: MAX_BYTES });
    if (text === undefined)
      throw new OutsideError("notFound", `open ${path}: no such file or directory`);
    this.#known = isSettled ? { facts, text } : undefined;
    return text;
  }
}

/** A file that takes the place of another may have its size and its time of change. */
function isUnchanged(before: FileFacts, now: FileFacts): boolean {
  return (
    before.version === now.version &&
    before.modifiedMs === now.modifiedMs &&
    before.sizeBytes === now.sizeBytes
  );
}
