// pure
import { smallest } from "../../../kit/limits/lists.ts";

/**
 * Limits the memory for peers that have not authenticated, and chooses those to drop. Each connection is
 * charged with its maximum cost before it is let in, so that the sum is bounded whatever is sent.
 */

/** How far a connection of a peer that has not authenticated has come. */
export type PeerStage =
  /** Accepted by the kernel, nothing read of it yet; costs nothing. */
  | "waiting"
  /** It has its place, and not a byte has come of it. */
  | "silent"
  /** Its handshake is under way; without TLS, its first request. */
  | "arriving"
  /** Its handshake is done, and its first request has not come, or not all of it. */
  | "ready"
  /** A request of it is being answered. */
  | "asking"
  /** It has been answered and asks nothing now. */
  | "idle";

/** A connection of a peer that has not authenticated. */
export interface Peer {
  readonly id: number;
  /** Connections with the same group share a limit, see `peerGroupOf`. */
  readonly group: string;
  readonly stage: PeerStage;
  /** When it came to this stage, on the monotonic clock. */
  readonly sinceMs: number;
  /** Bytes it is charged with, or will be once it is let in. */
  readonly bytes: number;
}

/** Limits for all peers that have not authenticated, over all listeners together. */
export interface PeerLimits {
  readonly bytes: number;
  /** Of one address. */
  readonly groupBytes: number;
  /** Of this machine itself, over loopback. */
  readonly loopbackBytes: number;
  /** Connections that wait for a place. */
  readonly waiting: number;
  readonly waitMs: number;
  /** One that is arriving or asking keeps its place for this long before it gives way to those that wait. */
  readonly turnMs: number;
  /** One that is silent or ready; callers begin at once, and send their request right behind the handshake. */
  readonly readyMs: number;
}

/** Why a connection is closed. */
export type PeerRule =
  /** Its place is needed by others, and it was the oldest idle one, or its time was over. */
  | "gives way"
  /** All unauthenticated connections together cost more than they may. */
  | "budget is used up"
  /** It waited too long for a place. */
  | "waited too long"
  /** Too many wait. */
  | "too many connections are waiting";

/** The actions; `recheckAtMs` is the time at which they may change without an event. */
export interface PeerVerdict {
  readonly admit: readonly number[];
  readonly close: readonly { readonly id: number; readonly rule: PeerRule }[];
  readonly recheckAtMs: number | undefined;
}

/** The group of all addresses of loopback. */
export const LOOPBACK = "loopback";

/** Peers that share a limit: one IPv4 address, one IPv6 network of 64 bits, or this machine over loopback. */
export function peerGroupOf(address: string): string {
  const plain = address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "")
    .replace(/%.*$/, "");
  if (plain === "::1" || plain.startsWith("127.")) return LOOPBACK;
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const words = [...left, ...new Array<string>(zeros).fill("0"), ...right];
  return `${words
    .slice(0, 4)
    .map((word) => Number.parseInt(word, 16).toString(16))
    .join(":")}::/64`;
}

/**
 * Decides about all peers at once. Places go to the group that has the least, within it to the connection
 * that came last, as a long queue is most likely not one of callers. Who gives way is of the group that has the
 * most: the oldest idle one, else the oldest whose turn is over; no group gives way to one that would have more.
 */
export function decidePlaces(
  peers: readonly Peer[],
  limits: PeerLimits,
  nowMs: number,
): PeerVerdict {
  const table = new Table(peers, limits, nowMs);
  table.closeLate();
  table.keepBudget();
  table.fillPlaces();
  table.boundWaiting();
  return table.verdict();
}

/** A connection of a peer that has authenticated. */
export interface KnownPeer {
  readonly id: number;
  /** When its last answer ended, on the monotonic clock; undefined while it is in use. */
  readonly idleSinceMs: number | undefined;
}

/**
 * Which of the authenticated connections is closed when there are more than `limit`: the one that is idle for
 * longest, else the one that has just come (`newest`); undefined while there are not too many.
 */
export function knownToClose(
  peers: Iterable<KnownPeer>,
  limit: number,
  newest: number,
): number | undefined {
  let count = 0;
  let oldest: { readonly id: number; readonly idleSinceMs: number } | undefined;
  for (const { id, idleSinceMs } of peers) {
    count += 1;
    if (id === newest || idleSinceMs === undefined) continue;
    if (!oldest || idleSinceMs < oldest.idleSinceMs) oldest = { id, idleSinceMs };
  }
  return count > limit ? (oldest?.id ?? newest) : undefined;
}

/** One group as it stands while decisions are made. */
interface Group {
  readonly name: string;
  bytes: number;
  /** Those with a place, the first to give way first. */
  readonly placed: Peer[];
  /** The latest last. */
  readonly waiting: Peer[];
}

const RANK: Readonly<Record<PeerStage, number>> = {
  idle: 0,
  silent: 1,
  ready: 1,
  arriving: 2,
  asking: 3,
  waiting: 4,
};

/** In the order in which connections are dropped. */
function compareTurns(a: Peer, b: Peer): number {
  return RANK[a.stage] - RANK[b.stage] || a.sinceMs - b.sinceMs || a.id - b.id;
}

class Table {
  readonly #groups = new Map<string, Group>();
  readonly #limits: PeerLimits;
  readonly #nowMs: number;
  readonly #admit: number[] = [];
  readonly #close: { id: number; rule: PeerRule }[] = [];
  #bytes = 0;

  constructor(peers: readonly Peer[], limits: PeerLimits, nowMs: number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    for (const peer of [...peers].sort(compareTurns)) {
      const group = this.#group(peer.group);
      if (peer.stage === "waiting") group.waiting.push(peer);
      else this.#place(group, peer);
    }
  }

  closeLate(): void {
    for (const { waiting } of this.#groups.values())
      while (waiting[0] && this.#nowMs - waiting[0].sinceMs >= this.#limits.waitMs)
        this.#closeOne(waiting.shift(), "waited too long");
  }

  /** Requests that came with long headers cost more than a place. */
  keepBudget(): void {
    for (const group of this.#groups.values())
      while (group.bytes > this.#groupLimit(group) && this.#evict(group));
    while (this.#bytes > this.#limits.bytes && this.#evict(this.#byWeight().at(-1)));
  }

  fillPlaces(): void {
    for (let placed = true; placed; )
      placed = this.#byWeight().some((group) => this.#admitOne(group));
  }

  boundWaiting(): void {
    const groups = [...this.#groups.values()];
    let count = groups.reduce((sum, { waiting }) => sum + waiting.length, 0);
    for (; count > this.#limits.waiting; count -= 1) {
      const longest = groups.reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a));
      this.#closeOne(longest.waiting.shift(), "too many connections are waiting");
    }
  }

  verdict(): PeerVerdict {
    const moments: number[] = [];
    const groups = [...this.#groups.values()];
    if (groups.some(({ waiting }) => waiting.length > 0))
      for (const { placed, waiting } of groups) {
        if (waiting[0]) moments.push(waiting[0].sinceMs + this.#limits.waitMs);
        for (const peer of placed) if (!this.#mayGiveWay(peer)) moments.push(this.#turnEnds(peer));
      }
    return {
      admit: this.#admit,
      close: this.#close,
      recheckAtMs: moments.length > 0 ? smallest(moments) : undefined,
    };
  }

  #admitOne(group: Group): boolean {
    const next = group.waiting.at(-1);
    const victims = next && this.#whoGivesWay(group, next.bytes);
    if (!next || !victims) return false;
    for (const victim of victims) this.#unplace(victim, "gives way");
    group.waiting.pop();
    this.#admit.push(next.id);
    const { id, bytes } = next;
    this.#place(group, {
      id,
      bytes,
      group: group.name,
      stage: "silent",
      sinceMs: this.#nowMs,
    });
    return true;
  }

  /** Connections to drop so that a group can have so many bytes more; undefined when that is impossible now. */
  #whoGivesWay(group: Group, bytes: number): readonly Peer[] | undefined {
    const chosen = new Set<Peer>();
    let own = group.bytes + bytes - this.#groupLimit(group);
    let any = this.#bytes + bytes - this.#limits.bytes;
    const choose = (peer: Peer, isOwn: boolean) => {
      chosen.add(peer);
      any -= peer.bytes;
      if (isOwn) own -= peer.bytes;
    };
    for (const peer of group.placed) if (own > 0 && this.#mayGiveWay(peer)) choose(peer, true);
    if (own > 0) return undefined;
    if (any <= 0) return [...chosen];
    const others = [...this.#groups.values()]
      .filter((other) => other === group || other.bytes >= group.bytes + bytes)
      .flatMap((other) => other.placed.map((peer) => ({ peer, weight: other.bytes })))
      .filter(({ peer }) => this.#mayGiveWay(peer) && !chosen.has(peer))
      .sort((a, b) => b.weight - a.weight || compareTurns(a.peer, b.peer));
    for (const { peer } of others) if (any > 0) choose(peer, peer.group === group.name);
    return any > 0 ? undefined : [...chosen];
  }

  #mayGiveWay(peer: Peer): boolean {
    return this.#turnEnds(peer) <= this.#nowMs;
  }

  #turnEnds({ stage, sinceMs }: Peer): number {
    switch (stage) {
      case "idle":
        return sinceMs;
      case "silent":
      case "ready":
        return sinceMs + this.#limits.readyMs;
      case "arriving":
      case "asking":
        return sinceMs + this.#limits.turnMs;
      case "waiting":
        return Number.POSITIVE_INFINITY;
      default:
        return stage satisfies never;
    }
  }

  #evict(group: Group | undefined): boolean {
    const victim = group?.placed.find((peer) => this.#mayGiveWay(peer)) ?? group?.placed[0];
    if (victim) this.#unplace(victim, "budget is used up");
    return victim !== undefined;
  }

  #place(group: Group, peer: Peer): void {
    group.placed.push(peer);
    group.bytes += peer.bytes;
    this.#bytes += peer.bytes;
  }

  #unplace(peer: Peer, rule: PeerRule): void {
    const group = this.#group(peer.group);
    group.placed.splice(group.placed.indexOf(peer), 1);
    group.bytes -= peer.bytes;
    this.#bytes -= peer.bytes;
    this.#closeOne(peer, rule);
  }

  #closeOne(peer: Peer | undefined, rule: PeerRule): void {
    if (peer) this.#close.push({ id: peer.id, rule });
  }

  #groupLimit({ name }: Group): number {
    const { loopbackBytes, groupBytes } = this.#limits;
    return name === LOOPBACK ? loopbackBytes : groupBytes;
  }

  /** The lightest first. */
  #byWeight(): Group[] {
    return [...this.#groups.values()].sort((a, b) => a.bytes - b.bytes);
  }

  #group(name: string): Group {
    const known = this.#groups.get(name);
    if (known) return known;
    const made: Group = { name, bytes: 0, placed: [], waiting: [] };
    this.#groups.set(name, made);
    return made;
  }
}
