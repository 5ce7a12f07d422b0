import { timerMs } from "../../../kit/timing/bounded-durations.ts";
import {
  decidePlaces,
  type KnownPeer,
  knownToClose,
  type Peer,
  type PeerLimits,
  type PeerRule,
  type PeerStage,
  peerGroupOf,
} from "./peer-places.ts";

/** Longest headers of a request, all together, of a peer that has not authenticated. */
export const UNKNOWN_HEADER_BYTES = 64 * 1024;
/** Streams that such a peer may have open at once over HTTP/2. */
export const UNKNOWN_STREAMS = 16;

/**
 * Maximum memory of a connection of such a peer: TLS (30 KiB measured, 45 KiB with HTTP/2), what the kernel's buffers are
 * read into, and headers that are not complete yet.
 */
export const CONNECTION_BYTES = 64 * 1024 + UNKNOWN_HEADER_BYTES;

const MIB = 1024 * 1024;

/** 96 connections at once: 48 of one address, 64 over loopback. */
const PEER_LIMITS: PeerLimits = {
  bytes: 12 * MIB,
  groupBytes: 6 * MIB,
  loopbackBytes: 8 * MIB,
  waiting: 256,
  waitMs: 10_000,
  turnMs: 3_000,
  readyMs: 500,
};

/**
 * Of the port for health checks: 32 connections, of one address too, since all of them come from this machine in most
 * configurations. Who asks has its request ready: one that says nothing holds up the others for a moment only.
 */
export const HEALTH_LIMITS: PeerLimits = {
  bytes: 4 * MIB,
  groupBytes: 4 * MIB,
  loopbackBytes: 4 * MIB,
  waiting: 256,
  waitMs: 10_000,
  turnMs: 1_000,
  readyMs: 100,
};

/** Memory of a request in progress beside its headers; a connection may have several pipelined. */
const REQUEST_BYTES = 4 * 1024;
/** Each byte of a header is a byte of text and its share of what holds it. */
const BYTES_PER_HEADER_BYTE = 2;

/** Decision on a connection. */
interface PeerEvents {
  /** It has a place: it may be read. Called once, perhaps before `enter` returns. */
  readonly onAdmit: () => void;
  /** Whether anything has come from it; always, where that is not known. */
  readonly hasSpoken?: () => boolean;
  /** It has none any more; not called after `leave`. */
  readonly onClose: (rule: PeerRule | "too many connections") => void;
}

/** A connection and its place. */
export interface PeerPlace {
  /** Whether its peer has authenticated. */
  readonly authenticated: boolean;
  /** The peer has proved who it is: from now on the connection counts among those of its listener. */
  authenticate(): void;
  /** The handshake is done. */
  ready(): void;
  /** A request has come, with headers of so many bytes; to be called when it is over. */
  begin(headerBytes: number): () => void;
  /** The connection is closed. */
  leave(): void;
}

/** Connections of one listener whose peers have authenticated. */
export interface KnownConnections {
  readonly limit: number;
  readonly places: Map<number, Place>;
}

/** The connections of all listeners whose peers have not authenticated, see `decidePlaces`. */
export class PeerGate {
  readonly #limits: PeerLimits;
  readonly #unknown = new Map<number, Place>();
  #nextId = 0;
  #waiting = 0;
  #deciding = false;
  #again = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: PeerLimits = PEER_LIMITS) {
    this.#limits = limits;
  }

  /** Takes a connection from `address`. Admits it as soon as a place is free, or closes it. */
  enter(address: string, known: KnownConnections, events: PeerEvents): PeerPlace {
    const place = this.#placeOf(address, known, events);
    this.#unknown.set(place.id, place);
    this.#waiting += 1;
    this.decide();
    return place;
  }

  /** Takes a connection whose peer is authenticated by the way it comes. */
  enterKnown(known: KnownConnections, events: PeerEvents): PeerPlace {
    const place = this.#placeOf("", known, events);
    place.enterStage("arriving");
    place.authenticate();
    if (known.places.has(place.id)) events.onAdmit();
    return place;
  }

  /** How many connections have a place, and how many wait for one. */
  get count(): { readonly placed: number; readonly waiting: number } {
    return { placed: this.#unknown.size - this.#waiting, waiting: this.#waiting };
  }

  /** A connection is not among the unauthenticated ones any more. */
  drop(place: Place): void {
    if (!this.#unknown.delete(place.id)) return;
    if (place.stage === "waiting") this.#waiting -= 1;
    if (this.#waiting > 0) this.decide();
  }

  /** Gives and takes places as they are due. */
  decide(): void {
    this.#again = true;
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      while (this.#again) {
        this.#again = false;
        this.#carryOut();
      }
    } finally {
      this.#deciding = false;
    }
  }

  #carryOut(): void {
    const nowMs = performance.now();
    const { admit, close, recheckAtMs } = decidePlaces(
      [...this.#unknown.values()],
      this.#limits,
      nowMs,
    );
    for (const { id, rule } of close) {
      const place = this.#unknown.get(id);
      if (!place) continue;
      this.drop(place);
      place.events.onClose(rule);
    }
    for (const id of admit) {
      const place = this.#unknown.get(id);
      if (!place) continue;
      this.#waiting -= 1;
      place.enterStage("arriving");
      place.events.onAdmit();
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (recheckAtMs === undefined) return;
    this.#timer = setTimeout(() => this.decide(), Math.max(1, timerMs(recheckAtMs - nowMs)));
    this.#timer.unref();
  }

  #placeOf(address: string, known: KnownConnections, events: PeerEvents): Place {
    this.#nextId += 1;
    return new Place(this.#nextId, { group: peerGroupOf(address), known, events, gate: this });
  }
}

interface PlaceParts {
  readonly group: string;
  readonly known: KnownConnections;
  readonly events: PeerEvents;
  readonly gate: PeerGate;
}

/** The place of one connection; made by the gate only. */
class Place implements PeerPlace, Peer, KnownPeer {
  readonly id: number;
  readonly group: string;
  readonly events: PeerEvents;
  #stage: PeerStage = "waiting";
  sinceMs = performance.now();
  authenticated = false;
  idleSinceMs: number | undefined = undefined;
  readonly #known: KnownConnections;
  readonly #gate: PeerGate;
  #requests = 0;
  #requestBytes = 0;

  constructor(id: number, { group, known, events, gate }: PlaceParts) {
    this.id = id;
    this.group = group;
    this.events = events;
    this.#known = known;
    this.#gate = gate;
  }

  /** Headers that are complete take the place of those that are still to come, as far as these were reckoned with. */
  get bytes(): number {
    return CONNECTION_BYTES + Math.max(0, this.#requestBytes - UNKNOWN_HEADER_BYTES);
  }

  get stage(): PeerStage {
    const isSilent = this.#stage === "arriving" && this.events.hasSpoken?.() === false;
    return isSilent ? "silent" : this.#stage;
  }

  enterStage(stage: PeerStage): void {
    this.#stage = stage;
    this.sinceMs = performance.now();
  }

  authenticate(): void {
    if (this.authenticated) return;
    this.authenticated = true;
    const { places, limit } = this.#known;
    if (this.#requests === 0) this.idleSinceMs = performance.now();
    places.set(this.id, this);
    this.#gate.drop(this);
    const surplus = knownToClose(places.values(), limit, this.id);
    const closed = surplus === undefined ? undefined : places.get(surplus);
    closed?.leave();
    closed?.events.onClose("too many connections");
  }

  ready(): void {
    if (this.#requests === 0) this.enterStage("ready");
  }

  begin(headerBytes: number): () => void {
    const bytes = REQUEST_BYTES + headerBytes * BYTES_PER_HEADER_BYTE;
    this.#requests += 1;
    this.#requestBytes += bytes;
    this.idleSinceMs = undefined;
    this.enterStage("asking");
    if (!this.authenticated) this.#gate.decide();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#requestBytes -= bytes;
      this.#requests -= 1;
      if (this.#requests > 0) return;
      this.idleSinceMs = performance.now();
      this.enterStage("idle");
      if (!this.authenticated) this.#gate.decide();
    };
  }

  leave(): void {
    this.#known.places.delete(this.id);
    this.#gate.drop(this);
  }
}
