/**
 * Static pods. Owns: the set of pods that files and URLs name. In: manifests. Out: pods that are desired and
 * those that no longer are, and problems. Invariants: one bad manifest harms no other; a broken edit does not end
 * what runs; `seen` turns true when every source has answered once, and stays so.
 *
 *     const sources = new Sources(options, deps);
 *     sources.start(); // from here on `deps.onDesired` and `deps.onUndesired` report changes
 */

import { formatProblems } from "../../api/decode/field-problem.ts";
import type { PodUid } from "../../api/observation.ts";
import { podDescription, podDisplayName } from "../../api/pod/pod.ts";
import { seenFromApi, staticPriorityWarning } from "../../api/pod/static-pod.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import { nanosFromWall, rfc3339Nano } from "../../api/text/timestamps.ts";
import { podNameProblems } from "../../api/validation/pod-names.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { UsageError } from "../../kit/errors.ts";
import { ageCheck, type HealthCheck } from "../../kit/health/health.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Files, PodFiles } from "../../outside/host/host.ts";
import type { Net } from "../../outside/net/net.ts";
import { followFiles } from "./file-source.ts";
import { followHttp } from "./http-source.ts";
import { type ManifestRules, manifestReader } from "./manifest.ts";
import {
  differenceOf,
  mergeSources,
  type SourcedPod,
  type SourceKind,
  type SourceProblem,
} from "./merge.ts";
import type { PodSink, PodSource } from "./pod-source.ts";
import { knownFields, unknownFieldsMessage } from "./unknown-fields.ts";

export type { PodSink, PodSource, SourcedPod, SourceProblem };

/** Which sources there are. */
export interface SourcesOptions {
  readonly nodeName: string;
  readonly file?: { readonly path: string; readonly everyMs: number };
  readonly http?: {
    readonly url: string;
    readonly headers: readonly { readonly name: string; readonly value: string }[];
    readonly everyMs: number;
  };
  /** What of static pods depends on feature gates. */
  readonly rules?: ManifestRules;
  /** Sources that are not manifests. */
  readonly others?: readonly PodSource[];
}

/** Dependencies and callbacks of sources. */
interface SourcesDeps {
  readonly files: Files;
  readonly podFiles: Pick<PodFiles, "factsOfAll">;
  readonly net: Net;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly onDesired: (pod: DesiredPod) => void;
  readonly onUndesired: (uid: PodUid, graceSeconds?: number) => void;
  /** Whether there is a pod of that UID, of a source or found running. */
  readonly isKnown: (uid: PodUid) => boolean;
  readonly events: PodEvents;
}

/** A desired pod, from any source. */
export interface DesiredPod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  readonly source: SourceKind | "api";
}

/** A source is old when so many reads in a row were missed, and never sooner than this. */
const MISSED_READS = 3;
const MIN_AGE_LIMIT_MS = 60_000;

/** All sources together. */
export class Sources {
  readonly #options: SourcesOptions;
  readonly #deps: SourcesDeps;
  readonly #answers = new Map<SourceKind, readonly SourcedPod[]>();
  readonly #synced = new Set<PodSource>();
  readonly #problemsOf = new Map<SourceKind, readonly SourceProblem[]>();
  readonly #seen = new Cell(false);
  readonly #problems = new Cell<readonly SourceProblem[]>([]);
  /** When each source of manifests was last read as a whole. */
  readonly #readAt = new Map<SourceKind, MonotonicMs>();
  /** When pods of other sources were first seen, by UID. */
  readonly #seenAt = new Map<string, string>();
  /** Ignored fields already reported, by UID. */
  readonly #ignored = new Map<string, string>();
  #desired: ReadonlyMap<PodUid, SourcedPod> = new Map();
  #duplicates: ReadonlySet<string> = new Set();

  constructor(options: SourcesOptions, deps: SourcesDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Whether every source has answered once. */
  get seen(): Reading<boolean> {
    return this.#seen;
  }

  get problems(): Reading<readonly SourceProblem[]> {
    return this.#problems;
  }

  /** Checks of how long ago each source of manifests was read as a whole. */
  get healthChecks(): readonly HealthCheck[] {
    const { clock } = this.#deps;
    const began = clock.monotonic();
    const { file, http } = this.#options;
    const check = (kind: SourceKind, everyMs: number, missing: string) =>
      ageCheck({
        name: `source-${kind}`,
        severity: "warning",
        clock,
        missing,
        limitMs: Math.max(MIN_AGE_LIMIT_MS, MISSED_READS * everyMs),
        since: () => this.#readAt.get(kind) ?? began,
      });
    return [
      ...(file ? [check("file", file.everyMs, "the folder of manifests has not been read")] : []),
      ...(http ? [check("http", http.everyMs, "the URL of manifests has not responded")] : []),
    ];
  }

  start(): void {
    const { file, http, nodeName, rules } = this.#options;
    const { scope, files, podFiles, net, clock, log } = this.#deps;
    const readManifest = manifestReader(nodeName, () => this.#now(), rules);
    if (file) {
      const onChange = this.#taker("file");
      const onRead = () => this.#readAt.set("file", clock.monotonic());
      scope.spawn("manifest files", "restart", (signal) =>
        followFiles(file, { files, podFiles, clock, log, readManifest, onChange, onRead }, signal),
      );
    }
    if (http) {
      const onChange = this.#taker("http");
      const onRead = () => this.#readAt.set("http", clock.monotonic());
      scope.spawn("manifest url", "restart", (signal) =>
        followHttp(http, { net, clock, readManifest, onChange, onRead }, signal),
      );
    }
    for (const source of this.#options.others ?? []) {
      scope.spawn(`pods of ${source.name}`, "restart", (signal) =>
        source.follow(this.#sinkFor(source), signal),
      );
    }
    this.#checkSeen();
  }

  #now(): string {
    return rfc3339Nano(nanosFromWall(this.#deps.clock.wall()));
  }

  #taker(
    kind: SourceKind,
  ): (
    pods: readonly SourcedPod[] | undefined,
    problems: readonly SourceProblem[],
    recreated?: ReadonlySet<string>,
  ) => void {
    return (pods, problems, recreated) => {
      // Without an answer nothing is known of its pods: they may run, and must not be taken for orphans.
      if (pods) this.#answers.set(kind, pods);
      this.#problemsOf.set(kind, problems);
      this.#merge(recreated);
      this.#checkSeen();
    };
  }

  #sinkFor(source: PodSource): PodSink {
    return {
      setDesired: (given) => {
        const pod = identifyPod(given);
        const { uid } = pod.metadata;
        if (uid === "")
          throw new UsageError(
            `pod ${podDisplayName(pod)} of ${source.name}: metadata.uid: Required value`,
          );
        const problems = podNameProblems(pod);
        if (problems.length > 0) {
          const error = `pod ${podDisplayName(pod)} of ${source.name}: ${formatProblems(problems)}`;
          if (!source.mayBeLater) throw new UsageError(error);
          // One that an API server has let through holds up none of its others.
          this.#deps.log.error("refused a pod whose names cannot be part of a path", { error });
          return;
        }
        const seen = this.#seenAt.get(uid) ?? this.#now();
        this.#seenAt.set(uid, seen);
        // The pod that a cluster knows is the one that counts.
        if (this.#desired.has(uid)) this.#merge();
        const known = source.mayBeLater ? this.#ignoreUnknown(uid, pod) : pod;
        this.#deps.onDesired({ uid, pod: seenFromApi(known, seen), source: "api" });
      },
      drop: (uid, graceSeconds) => {
        this.#seenAt.delete(uid);
        this.#ignored.delete(uid);
        this.#deps.onUndesired(uid as PodUid, graceSeconds);
        if (this.#isWithheld(uid)) this.#merge();
      },
      synced: () => {
        this.#synced.add(source);
        this.#checkSeen();
      },
    };
  }

  /** The pod without fields that are not known, which are reported when they are new. */
  #ignoreUnknown(uid: string, found: IdentifiedPod): IdentifiedPod {
    const { pod, unknown } = knownFields(found);
    const paths = unknown.join(" ");
    if (paths !== (this.#ignored.get(uid) ?? "")) {
      this.#ignored.set(uid, paths);
      const message = unknownFieldsMessage(unknown);
      if (unknown.length > 0)
        this.#deps.events.ofPod(pod, { type: "Warning", reason: "UnknownField", message });
    }
    return pod;
  }

  #checkSeen(): void {
    const { file, http, others = [] } = this.#options;
    const manifests = Number(file !== undefined) + Number(http !== undefined);
    if (this.#answers.size === manifests && this.#synced.size === others.length)
      this.#seen.set(true);
  }

  /** Whether a manifest has brought a UID that it did not get. */
  #isWithheld(uid: string): boolean {
    return (
      !this.#desired.has(uid as PodUid) &&
      [...this.#answers.values()].some((pods) => pods.some((pod) => pod.uid === uid))
    );
  }

  /** `recreated` are the origins whose files were deleted and made again. */
  #merge(recreated?: ReadonlySet<string>): void {
    const before = this.#desired;
    const { isKnown } = this.#deps;
    const merged = mergeSources([...this.#answers.values()].flat(), {
      before,
      isRunning: isKnown,
      isTaken: (uid) => this.#seenAt.has(uid),
    });
    this.#desired = merged.pods;
    this.#reportDuplicates(merged.duplicates);
    this.#reportProblems([...[...this.#problemsOf.values()].flat(), ...merged.problems]);
    const { removed, desired } = differenceOf(before, merged.pods, recreated);
    for (const uid of removed) this.#deps.onUndesired(uid);
    for (const pod of desired) this.#begin(pod);
  }

  #begin(desired: SourcedPod): void {
    const warning = staticPriorityWarning(desired.pod);
    if (warning !== undefined)
      this.#deps.log.info(warning, { pod: podDisplayName(desired.pod), origin: desired.origin });
    this.#deps.onDesired(desired);
  }

  #reportDuplicates(now: readonly SourcedPod[]): void {
    const keyOf = ({ uid, origin }: SourcedPod) => `${uid} ${origin}`;
    for (const each of now) {
      if (this.#duplicates.has(keyOf(each))) continue;
      const { pod, source } = each;
      const message = `Error validating pod ${podDescription(pod)} from ${source} due to duplicate pod name ${JSON.stringify(pod.metadata.name)}, ignoring`;
      this.#deps.events.ofPod(pod, { type: "Warning", reason: "FailedValidation", message });
    }
    this.#duplicates = new Set(now.map(keyOf));
  }

  /** Each problem is logged when it appears, not again while it lasts. */
  #reportProblems(now: readonly SourceProblem[]): void {
    const known = new Set(
      this.#problems.get().map(({ origin, message }) => `${origin}: ${message}`),
    );
    const fresh = now.filter(({ origin, message }) => !known.has(`${origin}: ${message}`));
    for (const { origin, message } of fresh)
      this.#deps.log.error("invalid manifest", { origin, error: message });
    if (fresh.length > 0 || now.length !== known.size) this.#problems.set(now);
  }
}
