/**
 * Statuses of pods. Owns: the status last derived of each pod, in memory and on disk. In: records. Out:
 * statuses to readers and sinks. Invariants: what a pod's status said before a restart is known after it;
 * a terminal phase stays; nothing is written when nothing changed.
 */
import type { Pod, PodStatus, ResourceStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Files } from "../../outside/host/host.ts";
import type { PodRecord } from "../pods/record.ts";
import { deriveStatus } from "./derive.ts";

/** Where statuses are kept. */
export interface StatusOptions {
  /** Folder of the kept statuses; one file for each pod. */
  readonly folder: string;
}

/** What deriving and keeping statuses needs. */
export interface StatusDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtimeName: () => string;
  readonly hostIps: () => readonly string[];
  /** Devices of a container with their health; left out when statuses are not to show them. */
  readonly devices?: (uid: PodUid, container: string) => readonly ResourceStatus[] | undefined;
}

/** A pod with its status, as readers see it. */
export interface PodWithStatus {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly status: PodStatus;
  /** Every container is gone and nothing will run any more. */
  readonly ended: boolean;
}

/** Told of every status that changed; `undefined` when the pod is gone for good. */
export type StatusSink = (uid: PodUid, now: PodWithStatus | undefined) => void;

const FILE = /^([A-Za-z0-9-]+)\.json$/;
/** Largest kept status that is read back. */
const MAX_BYTES = 1024 * 1024;
const FORMAT = 1;

/** The statuses of all pods. */
export class Statuses {
  readonly #options: StatusOptions;
  readonly #deps: StatusDeps;
  readonly #current = new Map<PodUid, PodWithStatus>();
  /** Read back at start, until the pod's first record comes. */
  readonly #kept = new Map<PodUid, PodStatus>();
  /** Pods that nobody wants any more, now and when the agent last ended. */
  readonly #going = new Set<PodUid>();
  readonly #goneBefore = new Set<PodUid>();
  readonly #sinks = new Set<StatusSink>();
  readonly #dirty = new Set<PodUid>();
  #writing: Promise<void> | undefined;

  constructor(options: StatusOptions, deps: StatusDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Reads what an earlier life kept. What cannot be read is reported and left out. */
  async open(): Promise<void> {
    const { files, log } = this.#deps;
    await files.makeDirectory(this.#options.folder, 0o700);
    for (const { name } of (await files.list(this.#options.folder)) ?? []) {
      const uid = FILE.exec(name)?.[1] as PodUid | undefined;
      if (uid === undefined) continue;
      const kept = parseKept(
        await files.readText(`${this.#options.folder}/${name}`, { maxBytes: MAX_BYTES }),
      );
      if (kept) this.#kept.set(uid, kept.status);
      if (kept?.going === true) this.#goneBefore.add(uid);
      if (kept) continue;
      log.warn("a kept pod status cannot be read and is ignored", {
        file: `${this.#options.folder}/${name}`,
      });
    }
  }

  list(): readonly PodWithStatus[] {
    return [...this.#current.values()];
  }

  get(uid: PodUid): PodWithStatus | undefined {
    return this.#current.get(uid);
  }

  /**
   * What was published of a pod before the agent was started, until it is derived anew; nothing of one that
   * was on its way out then: if it is wanted anew, it begins anew.
   */
  publishedBefore(uid: PodUid): PodStatus | undefined {
    return this.#goneBefore.has(uid) ? undefined : this.#kept.get(uid);
  }

  /** Whether a status of the pod was kept from an earlier life, until it is derived anew. */
  knownBefore(uid: PodUid): boolean {
    return this.#kept.has(uid);
  }

  subscribe(sink: StatusSink): () => void {
    this.#sinks.add(sink);
    return () => {
      this.#sinks.delete(sink);
    };
  }

  /** Takes a pod's new record; sinks hear of it when its status changed. */
  update(record: PodRecord): void {
    const { uid, pod } = record;
    if (record.life.kind === "released") {
      this.#forget(uid);
      return;
    }
    const before = this.#current.get(uid);
    const previous = before?.status ?? this.#keptOf(record) ?? publishedStatus(record);
    const { devices } = this.#deps;
    const status = deriveStatus(record, {
      previous,
      now: this.#deps.clock.wall(),
      hostIps: this.#deps.hostIps(),
      runtimeName: this.#deps.runtimeName(),
      ...(devices ? { devices: (container) => devices(uid, container) } : {}),
    });
    const ended = record.life.kind === "terminated";
    if (before && before.ended === ended && before.pod === pod && sameStatus(before.status, status))
      return;
    const now: PodWithStatus = { uid, pod, status, ended };
    this.#current.set(uid, now);
    this.#kept.delete(uid);
    const goesNow = record.removal && !this.#going.has(uid);
    if (goesNow) this.#going.add(uid);
    if (goesNow || !previous || !sameStatus(previous, status)) this.#markDirty(uid);
    for (const sink of this.#sinks) sink(uid, now);
  }

  /** Statuses kept of pods that nobody knows any more are removed. */
  dropUnclaimed(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of this.#kept.keys()) {
      if (isKnown(uid)) continue;
      this.#kept.delete(uid);
      this.#markDirty(uid);
    }
  }

  /** Resolves when everything that changed is on disk. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** A pod that was on its way out and is wanted anew is another one by right, whatever its UID. */
  #keptOf({ uid, source }: PodRecord): PodStatus | undefined {
    return source === "runtime" ? this.#kept.get(uid) : this.publishedBefore(uid);
  }

  #forget(uid: PodUid): void {
    this.#going.delete(uid);
    this.#current.delete(uid);
    this.#kept.delete(uid);
    this.#markDirty(uid);
    for (const sink of this.#sinks) sink(uid, undefined);
  }

  #markDirty(uid: PodUid): void {
    this.#dirty.add(uid);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Writes until nothing is dirty; a status that changes meanwhile is written once more. */
  async #write(): Promise<void> {
    for (const uid of this.#dirty) {
      this.#dirty.delete(uid);
      const path = `${this.#options.folder}/${uid}.json`;
      const status = this.#current.get(uid)?.status;
      try {
        if (!status) await this.#deps.files.remove(path);
        else
          await this.#deps.files.writeAtomic(
            path,
            JSON.stringify({
              format: FORMAT,
              status,
              ...(this.#going.has(uid) ? { going: true } : {}),
            }),
            0o600,
          );
      } catch (error) {
        this.#deps.log.warn("a pod status could not be kept", { uid, error });
      }
    }
  }
}

/** What the API has of a pod that came from there, for a node that has lost its own notes. */
function publishedStatus({ source, pod }: PodRecord): PodStatus | undefined {
  return source === "api" ? pod.status : undefined;
}

/** Both were made by the same code, so equal statuses have equal texts. */
function sameStatus(a: PodStatus, b: PodStatus): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

interface KeptStatus {
  readonly status: PodStatus;
  /** The pod was being ended because nobody wanted it any more. */
  readonly going: boolean;
}

function parseKept(text: string | undefined): KeptStatus | undefined {
  if (text === undefined) return undefined;
  try {
    const kept = JSON.parse(text) as {
      format?: unknown;
      status?: unknown;
      going?: unknown;
    } | null;
    if (kept?.format !== FORMAT || typeof kept.status !== "object" || kept.status === null)
      return undefined;
    return { status: kept.status as PodStatus, going: kept.going === true };
  } catch {
    return undefined;
  }
}
