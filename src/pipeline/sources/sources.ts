/**
 * Static pods. Owns: the set of pods that files and URLs want. In: manifests. Out: pods wanted and no
 * longer wanted, and problems. Invariants: one bad manifest harms no other; a broken edit does not end
 * what runs; `seen` turns true when every source has answered once, and stays so.
 */
import type { PodUid } from "../../api/observation.ts";
import { nanosFromWall, rfc3339Nano } from "../../api/timestamps.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Files } from "../../outside/host/host.ts";
import type { Net } from "../../outside/net/net.ts";
import { followFiles } from "./file-source.ts";
import { followHttp } from "./http-source.ts";
import { manifestReader } from "./manifest.ts";
import {
  differenceOf,
  mergeSources,
  type SourcedPod,
  type SourceKind,
  type SourceProblem,
} from "./merge.ts";

export type { SourcedPod, SourceProblem };

export interface SourcesOptions {
  readonly nodeName: string;
  readonly file?: { readonly path: string; readonly everyMs: number };
  readonly http?: {
    readonly url: string;
    readonly headers: readonly { readonly name: string; readonly value: string }[];
    readonly everyMs: number;
  };
}

export interface SourcesDeps {
  readonly files: Files;
  readonly net: Net;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly onWanted: (pod: SourcedPod) => void;
  readonly onUnwanted: (uid: PodUid) => void;
}

export class Sources {
  readonly #options: SourcesOptions;
  readonly #deps: SourcesDeps;
  readonly #answers = new Map<SourceKind, readonly SourcedPod[]>();
  readonly #problemsOf = new Map<SourceKind, readonly SourceProblem[]>();
  readonly #seen = new Cell(false);
  readonly #problems = new Cell<readonly SourceProblem[]>([]);
  #wanted: ReadonlyMap<PodUid, SourcedPod> = new Map();

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

  start(): void {
    const { file, http, nodeName } = this.#options;
    const { scope, files, net, clock, log } = this.#deps;
    const readManifest = manifestReader(nodeName, () => rfc3339Nano(nanosFromWall(clock.wall())));
    if (file) {
      const onChange = this.#taker("file");
      scope.spawn("manifest files", "restart", (signal) =>
        followFiles(file, { files, clock, log, readManifest, onChange }, signal),
      );
    }
    if (http) {
      const onChange = this.#taker("http");
      scope.spawn("manifest url", "restart", (signal) =>
        followHttp(http, { net, clock, readManifest, onChange }, signal),
      );
    }
    if (!file && !http) this.#seen.set(true);
  }

  #taker(
    kind: SourceKind,
  ): (pods: readonly SourcedPod[], problems: readonly SourceProblem[]) => void {
    return (pods, problems) => {
      this.#answers.set(kind, pods);
      this.#problemsOf.set(kind, problems);
      this.#merge();
      const expected =
        Number(this.#options.file !== undefined) + Number(this.#options.http !== undefined);
      if (this.#answers.size === expected) this.#seen.set(true);
    };
  }

  #merge(): void {
    const before = this.#wanted;
    const merged = mergeSources([...this.#answers.values()].flat(), before);
    this.#wanted = merged.pods;
    this.#tellProblems([...[...this.#problemsOf.values()].flat(), ...merged.problems]);
    const { removed, added } = differenceOf(before, merged.pods);
    for (const uid of removed) this.#deps.onUnwanted(uid);
    for (const pod of added) this.#deps.onWanted(pod);
  }

  /** Each problem is logged when it appears, not again while it lasts. */
  #tellProblems(now: readonly SourceProblem[]): void {
    const known = new Set(
      this.#problems.get().map(({ origin, message }) => `${origin}: ${message}`),
    );
    const fresh = now.filter(({ origin, message }) => !known.has(`${origin}: ${message}`));
    for (const { origin, message } of fresh)
      this.#deps.log.error("manifest cannot be used", { origin, problem: message });
    if (fresh.length > 0 || now.length !== known.size) this.#problems.set(now);
  }
}
