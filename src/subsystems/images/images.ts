/**
 * Pulls images for containers and removes unused ones. Owns: the record of each image, pulls under way, holds,
 * deletions. In: requests of the pods module, the usage of the disk, the user's keep rules. Out: an outcome that
 * the status can show, deletions with their reasons. Invariants: an image that a pod is about to
 * use is not removed; what a pass removes is what its dry run says.
 *
 * Example:
 *     const images = await Images.open(options, deps);
 *     const outcome = await images.ensure({ pod, container, image, policy: "IfNotPresent" }, signal);
 *     await images.upkeep(allPodsAreKnown, signal); // lists, then removes what is unused
 */

import type { ImageOutcome, ImageRequest } from "../../api/image-outcome.ts";
import { desiredPods, type PodFacts } from "../../api/pod-facts.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { NodeEvents, PodEvents } from "../../api/ports/events.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { ContainerRuntime } from "../../outside/cri/cri.ts";
import type { Host } from "../../outside/host/host.ts";
import type { Net } from "../../outside/net/net.ts";
import { CredentialPrograms } from "./credentials/credential-programs.ts";
import type { PodAccountPort } from "./credentials/pod-account.ts";
import { PulledRecords } from "./credentials/pulled-records.ts";
import { type PullSecretPort, RegistryAccess } from "./credentials/registry-access.ts";
import { CollectionFailed, Collector, type GcResult } from "./gc/collector.ts";
import { Holds } from "./gc/holds.ts";
import { measureFilesystems, type RuntimeFilesystems } from "./gc/image-disk.ts";
import { type GcGoal, usagePercentOf } from "./gc/plan-gc.ts";
import type { ListedImage } from "./image-record.ts";
import { ImageInventory } from "./inventory.ts";
import { exposePullRecords, type ImageMetrics, imageMetrics } from "./metrics.ts";
import { Ensure } from "./pull/ensure.ts";
import { Puller } from "./pull/puller.ts";
import { createReachable } from "./pull/reachable.ts";
import { type ImagesReport, reportPlan } from "./report.ts";
import type { ImageSettings } from "./settings.ts";

export { lookupCredentials, parseDockerConfig } from "./credentials/keyring.ts";
export { type PodAccountPort, podAccountsFrom } from "./credentials/pod-account.ts";
export { pullSecretsFrom } from "./credentials/pull-secrets.ts";
export type { PullSecret, PullSecretPort, PullSecrets } from "./credentials/registry-access.ts";
export type { GcResult } from "./gc/collector.ts";
export type { RuntimeFilesystem, RuntimeFilesystems } from "./gc/image-disk.ts";
export { measureFilesystems } from "./gc/image-disk.ts";
export type { KeepRules } from "./gc/keep-rules.ts";
export type { GcGoal } from "./gc/plan-gc.ts";
export type { ListedImage } from "./image-record.ts";
export type { ImagesReport, ReportedDisk, ReportedImage } from "./report.ts";
export { type ImagePolicy, type ImageSettings, imageSettings } from "./settings.ts";

/** Settings and paths of the module. */
interface ImageOptions extends ImageSettings {
  /** `--root-dir`. */
  readonly rootFolder: string;
  /** Home of the user that the agent runs as; docker's configuration may be there. */
  readonly home: string;
  /** Paths of credential providers, when configured. */
  readonly credentialPrograms?: { readonly configPath: string; readonly binFolder: string };
}

interface ImageDeps {
  readonly cri: ContainerRuntime;
  readonly host: Pick<Host, "files" | "diskUsage" | "runProgram">;
  readonly net: Pick<Net, "tcpConnect">;
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /** The runtime's description of itself (verbose status); absent where it has none. */
  readonly describeRuntime?: (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;
  /** Aborted when the agent leaves. */
  readonly signal: AbortSignal;
  /** Images of pods that have or may get containers are kept. */
  readonly pods: Pick<PodFacts, "values">;
  readonly pullSecrets: PullSecretPort;
  readonly accounts: PodAccountPort;
  readonly events: PodEvents & NodeEvents;
  readonly decisions: Pick<Decisions, "record">;
  /** Called with the progress of pulls that containers wait for. */
  readonly news: Publisher<PodNews>;
}

const DAY_MS = 24 * 3_600_000;

/** The module; see above. */
export class Images {
  readonly #settings: ImageSettings;
  readonly #deps: ImageDeps;
  readonly #inventory: ImageInventory;
  readonly #records: PulledRecords;
  readonly #collector: Collector;
  readonly #ensure: Ensure;
  #failures = 0;

  private constructor(
    options: ImageOptions,
    deps: ImageDeps,
    parts: { readonly metrics: ImageMetrics; readonly programs: CredentialPrograms | undefined },
  ) {
    const { cri, clock, log, state } = deps;
    const pods = () => desiredPods(deps.pods);
    const holds = new Holds();
    this.#settings = options;
    this.#deps = deps;
    this.#inventory = new ImageInventory(
      {
        checkpointPath: `${options.rootFolder}/nodelet/images.json`,
        rememberRequestedMs: Math.max(DAY_MS, options.gc.keep.wantedWithinMs),
      },
      {
        images: cri.images,
        runtime: cri.runtime,
        state,
        clock,
        log,
        pods,
        ...(deps.describeRuntime ? { describeRuntime: deps.describeRuntime } : {}),
      },
    );
    this.#records = new PulledRecords(
      { folder: `${options.rootFolder}/image_manager`, ...options.verification },
      { state, clock, log, onCheck: (result) => parts.metrics.mustPull.add({ result }) },
    );
    exposePullRecords(deps.metrics, () => this.#records.sizes);
    this.#collector = this.#createCollector(holds, parts.metrics);
    this.#ensure = new Ensure({
      images: cri.images,
      clock,
      log,
      holds,
      records: this.#records,
      metrics: parts.metrics,
      puller: new Puller(options.pulls, cri.images, clock),
      access: createAccess(options, deps, parts.programs),
      events: deps.events,
      news: deps.news,
      onPulled: (id, pullMs) => this.#inventory.pulled(id, pullMs),
    });
  }

  /** Reads what previous runs have kept; throws `UsageError` for credential providers that cannot be used. */
  static async open(options: ImageOptions, deps: ImageDeps): Promise<Images> {
    const metrics = imageMetrics(deps.metrics);
    const { host, clock, log, signal } = deps;
    const { providerDuration: duration, providerErrors: errors, providerConfig } = metrics;
    const programs =
      options.credentialPrograms &&
      (await CredentialPrograms.load(options.credentialPrograms, {
        host,
        clock,
        log,
        accounts: deps.accounts,
        duration,
        errors,
        onConfig: (hash) => providerConfig.set(1, { hash }),
        signal,
      }));
    const images = new Images(options, deps, { metrics, programs });
    await images.#inventory.load();
    await images.#records.load();
    return images;
  }

  /** The images as listed in the last 30 s, largest first: for the node's status. */
  get listing(): Reading<readonly ListedImage[]> {
    return this.#inventory.listing;
  }

  /** Makes sure that the runtime has the image, and holds it until the answer is released. */
  ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome> {
    return this.#ensure.ensure(request, signal);
  }

  /** Lists images again for `listing`; throws `OutsideError`. */
  async list(signal: AbortSignal): Promise<void> {
    const listed = await this.#inventory.list(signal);
    await this.#records.settleIntents(listed);
  }

  /**
   * The turn that comes every five minutes: lists images, and removes what age and thresholds say unless
   * that is switched off. `mayRemove` is false until all desired pods are known. A failure is logged,
   * a second one in a row is an event (kubelet.go StartGarbageCollection).
   */
  async upkeep(mayRemove: boolean, signal: AbortSignal): Promise<void> {
    const { log, events } = this.#deps;
    try {
      if (mayRemove && this.#settings.periodic)
        await this.#collector.collect({ kind: "periodic" }, signal);
      else await this.#inventory.detect(signal);
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted || !(error instanceof CollectionFailed || isOutside(error))) throw error;
      this.#failures += 1;
      log.warn("image garbage collection failed", { error });
      if (this.#failures < 2) return;
      events.ofNode({ type: "Warning", reason: "ImageGCFailed", message: messageOf(error) });
    }
  }

  /** Removes every image that nothing protects, for disk pressure; the same as `collect("unused")`. */
  deleteUnused(signal: AbortSignal): Promise<GcResult> {
    return this.collect({ kind: "unused" }, signal);
  }

  /**
   * Removes images until a goal is reached, with the protections of the periodic pass. Throws
   * `CollectionFailed` or `OutsideError` when nothing could be decided; deletions that failed are in the
   * result.
   */
  collect(goal: GcGoal, signal: AbortSignal): Promise<GcResult> {
    return this.#collector.collect(goal, signal);
  }

  /** All images, and what a pass for the goal would do now; removes nothing. Throws `OutsideError`. */
  async report(goal: GcGoal, signal: AbortSignal): Promise<ImagesReport> {
    const plan = await this.#collector.plan(goal, signal);
    return reportPlan(plan, this.#settings.gc, await this.#reportedDisk(signal));
  }

  /** The file systems of images and writable layers; throws `OutsideError`. */
  filesystems(signal: AbortSignal): Promise<RuntimeFilesystems> {
    return measureFilesystems(this.#deps.cri.images, this.#deps.host, signal);
  }

  /** Keeps what the next life needs. */
  flush(): Promise<void> {
    return this.#inventory.save();
  }

  async #reportedDisk(signal: AbortSignal) {
    try {
      const { images } = await this.filesystems(signal);
      return { ...images, usagePercent: images.capacityBytes > 0 ? usagePercentOf(images) : 0 };
    } catch (error) {
      if (signal.aborted) throw error;
      return undefined;
    }
  }

  #createCollector(holds: Holds, metrics: ImageMetrics): Collector {
    const { cri, host, clock, log, net, events, decisions } = this.#deps;
    const pods = () => desiredPods(this.#deps.pods);
    return new Collector(this.#settings.gc, {
      images: cri.images,
      host,
      clock,
      log,
      holds,
      pods,
      inventory: this.#inventory,
      events,
      decisions,
      collected: metrics.collected,
      reachable: createReachable(net, clock),
      afterPass: (ids, beganMs) => this.#records.prune(ids, beganMs),
    });
  }
}

function createAccess(
  { rootFolder, home }: ImageOptions,
  { host, clock, log, pullSecrets, accounts }: ImageDeps,
  programs: CredentialPrograms | undefined,
): RegistryAccess {
  const folders = [rootFolder, `${home === "/" ? "" : home}/.docker`, "/.docker"];
  const old = [rootFolder, home === "/" ? "" : home].map((folder) => `${folder}/.dockercfg`);
  return new RegistryAccess({
    files: host.files,
    clock,
    log,
    pullSecrets,
    accounts,
    nodeFiles: [...folders.map((folder) => `${folder}/config.json`), ...old],
    ...(programs ? { programs } : {}),
  });
}
