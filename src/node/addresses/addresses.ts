/**
 * The node's addresses. Owns: which they are. In: the machine's interfaces and routes, DNS. Out: a reading that changes
 * with them. Invariants: an address that was chosen stays until another one can be chosen; there is never more than one
 * question to DNS, and a server that does not answer delays others only briefly.
 * Example: `openAddresses(options, outside, scope).ips.subscribe((ips) => …)`.
 */

import type { Node } from "../../api/generated/types.ts";
import { hostIpsOfNode } from "../../api/node/node-addresses.ts";
import { canonicalAddress } from "../../api/text/ip.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { within } from "../../kit/within.ts";
import type { Host } from "../../outside/host/host.ts";
import { chooseAddresses, needsDns } from "./choose-addresses.ts";

/** Name of the node and its configured addresses. */
interface AddressOptions {
  readonly nodeName: string;
  /** `--node-ip`, canonical; empty when unset. */
  readonly given: readonly string[];
}

interface AddressDeps {
  readonly host: Pick<Host, "addresses" | "lookup">;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

/**
 * The kernel reports changes by netlink only, which Node does not support; the Go kubelet reads as often
 * (nodeStatusUpdateFrequency). Listing addresses takes 0.3 ms with 250 pods.
 */
const READ_EVERY_MS = 10_000;
/** With each read; less often while there is no answer. */
const LOOKUP = { initialMs: 10_000, maxMs: 60_000 };
/** Longer is not waited for DNS: the default route's address is good enough until it answers. */
const LOOKUP_WAIT_MS = 2_000;

/** Addresses of the node, kept up to date. */
export class NodeAddresses {
  readonly #options: AddressOptions;
  readonly #deps: AddressDeps;
  readonly #ips: Cell<readonly string[]>;
  /** Resolves after the first DNS lookup, where one is needed. */
  readonly #first = Promise.withResolvers<void>();
  /** The last DNS result for the node's name. */
  #named: readonly string[] = [];
  #asking: Promise<void> | undefined;
  #askAt: MonotonicMs | undefined;
  /** Questions without an answer since the last one. */
  #failures = 0;
  /** Why no address can be chosen, as last logged. */
  #problem: string | undefined;

  constructor(options: AddressOptions, deps: AddressDeps) {
    this.#options = options;
    this.#deps = deps;
    const choice = chooseAddresses({ ...options, named: [], found: foundOn(deps.host) });
    this.#ips = new Cell<readonly string[]>(choice.kind === "chosen" ? choice.ips : []);
  }

  /** The addresses, primary first; empty as long as there were none. */
  get ips(): Reading<readonly string[]> {
    return this.#ips;
  }

  /** The addresses once DNS has answered, or has not in time. */
  async settled(): Promise<readonly string[]> {
    await this.#first.promise;
    return this.#ips.get();
  }

  /** Follows interfaces, routes and DNS, in the scope. */
  start(): void {
    const { clock, scope } = this.#deps;
    scope.spawn("node addresses", "restart", async (signal) => {
      while (!signal.aborted) {
        if (needsDns(this.#options)) await this.#askDns(signal);
        this.#choose();
        this.#first.resolve();
        await clock.coalesced.sleep(READ_EVERY_MS, signal).catch(() => {});
      }
    });
  }

  #choose(): void {
    const { host, log } = this.#deps;
    const found = foundOn(host);
    const choice = chooseAddresses({ ...this.#options, named: this.#named, found });
    const problem = choice.kind === "none" ? choice.problem : undefined;
    if (problem !== undefined && problem !== this.#problem)
      log.warn("failed to determine the node's addresses; keeping the previous ones", {
        error: problem,
      });
    this.#problem = problem;
    const before = this.#ips.get();
    if (choice.kind === "none" || choice.ips.join() === before.join()) return;
    log.info("node addresses changed", { before: before.join(), now: choice.ips.join() });
    this.#ips.set(choice.ips);
  }

  /** Asks for the node's name when it is time. What is still under way is not asked again. */
  async #askDns(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const now = clock.monotonic();
    if (this.#asking !== undefined || (this.#askAt !== undefined && now < this.#askAt)) return;
    this.#failures += 1;
    const asking = this.#lookup().finally(() => {
      this.#asking = undefined;
      this.#askAt = (now + retryDelayMs(Math.max(1, this.#failures), LOOKUP)) as MonotonicMs;
    });
    this.#asking = asking;
    const limit = { clock, ms: LOOKUP_WAIT_MS, what: "DNS" };
    await within(limit, signal, () => asking).catch((error: unknown) => {
      if (!signal.aborted)
        log.verbose(2, "failed to look up the node's addresses in DNS", {
          error,
        });
    });
  }

  /** When DNS fails, its last result is used. */
  async #lookup(): Promise<void> {
    const named = await this.#deps.host.lookup(this.#options.nodeName);
    this.#named = named.map(canonicalAddress);
    this.#failures = 0;
  }
}

/** Begins to follow the addresses, in the scope. `nodeIps`: `--node-ip`. */
export function openAddresses(
  { nodeName, nodeIps = [] }: { readonly nodeName: string; readonly nodeIps?: readonly string[] },
  { host, clock, log }: Omit<AddressDeps, "scope">,
  scope: TaskScope,
): NodeAddresses {
  const deps = { host, clock, log: log.child("node"), scope };
  const addresses = new NodeAddresses({ nodeName, given: nodeIps }, deps);
  addresses.start();
  return addresses;
}

/** Addresses shown to pods: those of the node's object; as long as it has none, those of the machine. */
export function followHostIps(
  addresses: Reading<readonly string[]>,
  node: Reading<Node | undefined>,
): Reading<readonly string[]> {
  const now = () => hostIpsOfNode(node.get()) ?? addresses.get();
  const hostIps = new Cell(now());
  const update = () => {
    const ips = now();
    if (ips.join() !== hostIps.get().join()) hostIps.set(ips);
  };
  addresses.subscribe(update);
  node.subscribe(update);
  return hostIps;
}

function foundOn(host: Pick<Host, "addresses">): readonly string[] {
  return host.addresses().map(canonicalAddress);
}
