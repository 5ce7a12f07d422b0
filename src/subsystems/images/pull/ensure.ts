/**
 * Having an image when a container needs it. Owns: back-off of failing pulls. In: what a pod asks for. Out: the
 * image with a hold on it, or why not, in the words of the status. Invariants: what is answered as present is
 * held and cannot be removed before the caller lets go; a failing image is not asked for again before its
 * back-off has passed.
 */

import { LRUCache } from "lru-cache";
import type { ImageOutcome, ImageRequest } from "../../../api/image-outcome.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { PodNews } from "../../../api/pod-news.ts";
import type { PodEvents } from "../../../api/ports/events.ts";
import type { PresentImage } from "../../../api/present-image.ts";
import type { EventType } from "../../../api/reasons.ts";
import { type BackoffEntry, backoffLeftMs, backoffNext } from "../../../kit/backoff.ts";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { Publisher } from "../../../kit/topic.ts";
import type { Image, ImageService } from "../../../outside/cri/cri.ts";
import type { ImageAccess } from "../credentials/pulled-record.ts";
import type { PulledRecords } from "../credentials/pulled-records.ts";
import { credentialHash, type RegistryAccess } from "../credentials/registry-access.ts";
import type { Hold, Holds } from "../gc/holds.ts";
import type { ImageMetrics } from "../metrics.ts";
import { progressMessage, TEXTS } from "./image-texts.ts";
import { decidePull, pullFailure, withDefaultTag } from "./pull-policy.ts";
import type { PulledImage, Puller } from "./puller.ts";

/** Back-off of failing pulls (kubelet MaxImageBackOff). */
const PULL_BACKOFF = { initialMs: 10_000, maxMs: 300_000 };
/** So long the status shows why a pull has failed, before it shows that the next one has to wait. */
const BACKOFF_SHOWS_MS = 1_000;
/** Back-off entries kept at most. */
const BACKOFF_ENTRIES = 4096;
/** Pause before a permanently failed request is checked again. */
const HOPELESS_RETRY_MS = 60_000;
/** Attempts when an image was removed between its inspection and the hold on it. */
const TRIES = 3;
/** Between two updates of what a waiting container shows. */
const PROGRESS_MS = 30_000;

/** Its dependencies. */
interface EnsureDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly log: Log;
  readonly holds: Holds;
  readonly puller: Puller;
  readonly access: RegistryAccess;
  readonly records: PulledRecords;
  readonly metrics: ImageMetrics;
  readonly events: PodEvents;
  /** Called with the progress of pulls that containers wait for. */
  readonly news: Publisher<PodNews>;
  /** Called for every pull that succeeded. */
  readonly onPulled: (id: string, pullMs: number) => void;
}

type Refused = Extract<ImageOutcome, { kind: "refused" }>;
/** An image by its full name, with what registries are shown. */
type PullWith = { readonly image: string } & Pick<
  Awaited<ReturnType<RegistryAccess["credentials"]>>,
  "credentials"
>;
type Found = { readonly kind: "found"; readonly ref: string; readonly image: Image | undefined };

/** See the head of this file. */
export class Ensure {
  readonly #deps: EnsureDeps;
  readonly #backoff = new LRUCache<string, BackoffEntry & { readonly message: string }>({
    max: BACKOFF_ENTRIES,
  });

  constructor(deps: EnsureDeps) {
    this.#deps = deps;
  }

  /** Ensures that the runtime has the image; the outcome goes to events and the pod's status. */
  async ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome> {
    const image = withDefaultTag(request.image);
    if (image === undefined) {
      this.#deps.metrics.asked(request.policy);
      const message = TEXTS.badName(request.image);
      this.#recordEvent(request, "Warning", "InspectFailed", message);
      return { kind: "refused", reason: "InvalidImageName", message, retryInMs: HOPELESS_RETRY_MS };
    }
    const { holds } = this.#deps;
    const by = `${podDisplayName(request.pod)} (${request.container})`;
    const named = holds.hold(image, by);
    let held: Hold | undefined;
    try {
      for (let tries = 1; ; tries += 1) {
        await holds.untilNotRemoved([image]);
        const mark = holds.mark();
        const found = await this.#find(request, image, signal);
        if (found.kind === "refused") return found;
        const id = found.image?.id ?? found.ref;
        held?.release();
        held = holds.hold(id, by);
        const gone = await this.#removedMeanwhile(id, mark, signal);
        if (gone && tries < TRIES) continue;
        const kept = held;
        held = undefined;
        return { kind: "present", image: presentImage(found), release: () => kept.release() };
      }
    } finally {
      held?.release();
      named.release();
    }
  }

  /** Whether the image was removed after the mark and is really gone. */
  async #removedMeanwhile(id: string, mark: number, signal: AbortSignal): Promise<boolean> {
    const { holds, images } = this.#deps;
    await holds.untilNotRemoved([id]);
    if (!holds.removedSince(id, mark)) return false;
    return (await images.imageStatus(id, signal)) === undefined;
  }

  async #find(request: ImageRequest, image: string, signal: AbortSignal): Promise<Found | Refused> {
    let present: Image | undefined;
    if (request.policy !== "Always") {
      try {
        present = await this.#deps.images.imageStatus(image, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#deps.metrics.asked(request.policy);
        const message = TEXTS.inspectFailed(request.image, messageOf(error));
        return this.#refuse(request, {
          reason: "ImageInspectError",
          event: "InspectFailed",
          message,
        });
      }
    }
    const allowed = present !== undefined && (await this.#mayUse(request, present, signal));
    const verdict = decidePull(request.policy, allowed);
    this.#deps.metrics.asked(request.policy, askedFor(request.policy, present, allowed));
    if (verdict === "use" && present) {
      this.#recordEvent(request, "Normal", "Pulled", TEXTS.present(request.image));
      return { kind: "found", ref: present.id, image: present };
    }
    if (verdict === "pull") return await this.#pullUnlessBackedOff(request, image, signal);
    // Of an image that the pod has no access to it must not learn that it is there; the node's log says so.
    if (present)
      this.#deps.log.verbose(
        2,
        "an image with pull policy Never is present but not the pod's to use",
        {
          pod: podDisplayName(request.pod),
          image: request.image,
        },
      );
    const message = TEXTS.absentAndNever(request.image);
    return this.#refuse(request, {
      reason: "ErrImageNeverPull",
      event: "ErrImageNeverPull",
      message,
    });
  }

  #mayUse({ pod, image }: ImageRequest, present: Image, signal: AbortSignal): Promise<boolean> {
    const { records, access } = this.#deps;
    return records.mayUse(image, present.id, {
      secrets: () => access.secretsFor(image, pod, signal),
      account: () => access.accountOf(pod, signal),
    });
  }

  async #pullUnlessBackedOff(
    request: ImageRequest,
    image: string,
    signal: AbortSignal,
  ): Promise<Found | Refused> {
    const key = `${request.pod.metadata?.uid}_${image}`;
    const now = this.#deps.clock.monotonic();
    const entry = this.#backoff.get(key);
    const leftMs = entry ? backoffLeftMs(entry, entry.lastUpdate, now, PULL_BACKOFF) : 0;
    if (entry && leftMs > 0) {
      const message = TEXTS.backOff(request.image);
      this.#recordEvent(request, "Normal", "BackOff", message);
      const detail = `${message}: ${entry.message}`;
      return { kind: "refused", reason: "ImagePullBackOff", message: detail, retryInMs: leftMs };
    }
    this.#recordEvent(request, "Normal", "Pulling", TEXTS.pulling(request.image));
    const asked = this.#deps.clock.monotonic();
    let missingSecrets: readonly string[] = [];
    try {
      const found = await this.#deps.access.credentials(image, request.pod, signal);
      missingSecrets = found.missingSecrets;
      const pulled = await this.#pull(request, { image, ...found }, signal);
      this.#backoff.delete(key);
      return await this.#pulled(request, pulled, asked, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const refused = this.#pullFailed(request, key, messageOf(error));
      if (missingSecrets.length > 0 && refused.reason === "ErrImagePull")
        this.#recordSecretsMissing(request, missingSecrets);
      return refused;
    }
  }

  /** Only once a pull has failed: without it nobody needs the secrets (kubelet.go SyncPod). */
  #recordSecretsMissing({ pod }: ImageRequest, names: readonly string[]): void {
    const reason = "FailedToRetrieveImagePullSecret";
    const message = TEXTS.secretsMissing(names);
    this.#deps.events.ofPod(pod, { type: "Warning", reason, message });
  }

  async #pull(
    request: ImageRequest,
    { image, credentials }: PullWith,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const { records, puller } = this.#deps;
    const { pod } = request;
    await records.began(request.image);
    const stop = { progress: () => {} };
    try {
      const spec = { image, annotations: pod.metadata?.annotations ?? {}, credentials };
      const pulled = await puller.pull(spec, signal, (standing) => {
        stop.progress = this.#showProgress(request, standing);
      });
      await records.pulled(request.image, pulled.imageRef, accessBy(pulled));
      return pulled;
    } catch (error) {
      await records.failed(request.image);
      throw error;
    } finally {
      stop.progress();
    }
  }

  #showProgress(
    request: ImageRequest,
    standing: () => ReturnType<Parameters<NonNullable<Parameters<Puller["pull"]>[2]>>[0]>,
  ): () => void {
    const { clock, news } = this.#deps;
    const { pod, container, image } = request;
    const uid = pod.metadata.uid;
    const publish = (message: string | undefined) =>
      news.publish({ kind: "progress", uid, container, message });
    const show = () => {
      publish(progressMessage(image, standing()));
      cancel = clock.alarm(PROGRESS_MS, show);
    };
    // With a free slot it is shown at once, but not before this function has returned.
    let cancel = clock.alarm(0, show);
    return () => {
      cancel();
      publish(undefined);
    };
  }

  async #pulled(
    request: ImageRequest,
    { imageRef, tookMs }: PulledImage,
    askedAt: number,
    signal: AbortSignal,
  ): Promise<Found> {
    const { clock, images, log, metrics, onPulled } = this.#deps;
    const waitedMs = clock.monotonic() - askedAt;
    const image = await images.imageStatus(imageRef, signal).catch((error: unknown) => {
      log.verbose(2, "failed to get the size of a pulled image", { image: request.image, error });
      return undefined;
    });
    const bytes = image?.size ?? 0n;
    this.#recordEvent(
      request,
      "Normal",
      "Pulled",
      TEXTS.pulled(request.image, { tookMs, waitedMs }, bytes),
    );
    metrics.pulled(Number(bytes), waitedMs);
    onPulled(image?.id ?? imageRef, tookMs);
    return { kind: "found", ref: imageRef, image };
  }

  #pullFailed(request: ImageRequest, key: string, why: string): Refused {
    const now = this.#deps.clock.monotonic();
    const { reason, message } = pullFailure(request.image, why);
    const next = backoffNext(this.#backoff.get(key), now, now, PULL_BACKOFF);
    this.#backoff.set(key, { ...next, message: `${reason}: ${message}` });
    this.#recordEvent(request, "Warning", "Failed", TEXTS.pullFailed(request.image, why));
    return { kind: "refused", reason, message, retryInMs: BACKOFF_SHOWS_MS };
  }

  #refuse(
    request: ImageRequest,
    why: { readonly reason: string; readonly event: string; readonly message: string },
  ): Refused {
    this.#recordEvent(request, "Warning", why.event, why.message);
    const { reason, message } = why;
    return { kind: "refused", reason, message, retryInMs: PULL_BACKOFF.initialMs };
  }

  #recordEvent(
    { pod, container }: ImageRequest,
    type: EventType,
    reason: string,
    message: string,
  ): void {
    this.#deps.events.ofPod(pod, { type, reason, message }, container);
  }
}

/** What was found out of an image: with Always the image is not inspected, and with Never an absent one is not pulled (EnsureImageExists). */
function askedFor(policy: string, image: Image | undefined, usable: boolean) {
  if (policy === "Always") return { pulls: true };
  if (policy === "Never" && !image) return { present: false };
  return { present: image !== undefined, pulls: !usable };
}

/** Pods that may use the pulled image: any, or those with the secret or service account. */
function accessBy({ credentials }: PulledImage): ImageAccess {
  if (credentials?.account) return { kubernetesServiceAccounts: [credentials.account] };
  if (!credentials?.source) return { nodePodsAccessible: true };
  const secret = { ...credentials.source, credentialHash: credentialHash(credentials) };
  return { kubernetesSecrets: [secret] };
}

function presentImage({ ref, image }: Found): PresentImage {
  return { ref, user: { uid: image?.uid?.value, username: image?.username ?? "" } };
}
