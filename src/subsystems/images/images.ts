/**
 * Images: having them when a container needs them. Owns: pulls under way and their back-off. In: what
 * the pods room needs. Out: an outcome the status can show. Invariants: one pull of an image at a time;
 * a failing image is not asked for again before its back-off has passed.
 */
import { LRUCache } from "lru-cache";
import PQueue from "p-queue";
import type { Pod } from "../../api/generated/types.ts";
import type { PresentImage } from "../../api/present-image.ts";
import { type BackoffEntry, backoffLeftMs, backoffNext } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Image, ImageService } from "../../outside/cri/cri.ts";
import { decidePull, pullDuration, pullFailureReason, withDefaultTag } from "./pull-policy.ts";

/** Back-off of failing pulls (kubelet MaxImageBackOff). */
const PULL_BACKOFF = { initialMs: 10_000, maxMs: 300_000 };
/** So long the status shows why a pull has failed, before it shows that the next one has to wait. */
const BACKOFF_SHOWS_MS = 1_000;
/** Back-off entries kept at most. */
const BACKOFF_ENTRIES = 4096;

/** How images are pulled. */
export interface ImageOptions {
  /** Pulls at once; 1 is the reference's serial default. */
  readonly parallelPulls: number;
}

/** Something worth an event on a container. */
export interface ImageEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** What the room stands on. */
export interface ImageDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly log: Log;
  readonly recordEvent: (pod: Pod, container: string, event: ImageEvent) => void;
}

/** An image that a container is about to need. */
export interface ImageRequest {
  readonly pod: Pod;
  readonly container: string;
  /** As the pod's spec names it. */
  readonly image: string;
  readonly policy: string;
}

/** What became of the request. */
export type ImageAnswer =
  | { readonly kind: "present"; readonly image: PresentImage }
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly message: string;
      readonly retryInMs: number;
    };

/** Pause before a request that no waiting can mend is looked at again. */
const HOPELESS_RETRY_MS = 60_000;

/** The room; see above. */
export class Images {
  readonly #deps: ImageDeps;
  readonly #pulls: PQueue;
  readonly #underWay = new Map<string, Promise<string>>();
  readonly #backoff = new LRUCache<string, BackoffEntry & { readonly message: string }>({
    max: BACKOFF_ENTRIES,
  });

  constructor(options: ImageOptions, deps: ImageDeps) {
    this.#deps = deps;
    this.#pulls = new PQueue({ concurrency: options.parallelPulls });
  }

  /** Makes sure that the runtime has the image; what it says goes to events and the pod's status. */
  async ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageAnswer> {
    const image = withDefaultTag(request.image);
    if (image === undefined) {
      const message = `Failed to apply default image tag ${JSON.stringify(request.image)}: couldn't parse image name ${JSON.stringify(request.image)}: invalid reference format`;
      this.#warn(request, "InspectFailed", message);
      return { kind: "refused", reason: "InvalidImageName", message, retryInMs: HOPELESS_RETRY_MS };
    }
    let present: Image | undefined;
    if (request.policy !== "Always") {
      try {
        present = await this.#deps.images.imageStatus(image, signal);
      } catch (error) {
        const message = `Failed to inspect image ${JSON.stringify(image)}: ${messageOf(error)}`;
        this.#warn(request, "InspectFailed", message);
        return {
          kind: "refused",
          reason: "ImageInspectError",
          message,
          retryInMs: PULL_BACKOFF.initialMs,
        };
      }
    }
    switch (decidePull(request.policy, present !== undefined)) {
      case "use": {
        const message = `Container image ${JSON.stringify(request.image)} already present on machine and can be accessed by the pod`;
        this.#say(request, "Pulled", message);
        return { kind: "present", image: presentImage(present?.id ?? image, present) };
      }
      case "refuse": {
        const message = `Container image ${JSON.stringify(request.image)} is not present with pull policy of Never`;
        this.#warn(request, "ErrImageNeverPull", message);
        return {
          kind: "refused",
          reason: "ErrImageNeverPull",
          message,
          retryInMs: PULL_BACKOFF.initialMs,
        };
      }
      default:
        return this.#pullUnlessBackedOff(request, image, signal);
    }
  }

  async #pullUnlessBackedOff(
    request: ImageRequest,
    image: string,
    signal: AbortSignal,
  ): Promise<ImageAnswer> {
    const key = `${request.pod.metadata?.uid}_${image}`;
    const now = this.#deps.clock.monotonic();
    const entry = this.#backoff.get(key);
    const leftMs = entry ? backoffLeftMs(entry, entry.lastUpdate, now, PULL_BACKOFF) : 0;
    if (entry && leftMs > 0) {
      const message = `Back-off pulling image ${JSON.stringify(image)}`;
      this.#say(request, "BackOff", message);
      const detail = `${message}: ${entry.message}`;
      return { kind: "refused", reason: "ImagePullBackOff", message: detail, retryInMs: leftMs };
    }
    this.#say(request, "Pulling", `Pulling image ${JSON.stringify(image)}`);
    const asked = this.#deps.clock.monotonic();
    try {
      const { imageRef, tookMs, status } = await this.#pull(image, request, signal);
      this.#backoff.delete(key);
      const waitedMs = this.#deps.clock.monotonic() - asked;
      this.#say(
        request,
        "Pulled",
        `Successfully pulled image ${JSON.stringify(image)} in ${pullDuration(tookMs)} (${pullDuration(waitedMs)} including waiting). Image size: ${status?.size ?? 0n} bytes.`,
      );
      return { kind: "present", image: presentImage(imageRef, status) };
    } catch (error) {
      if (signal.aborted) throw error;
      return this.#pullFailed(request, { key, image, message: messageOf(error) });
    }
  }

  #pullFailed(
    request: ImageRequest,
    failed: { readonly key: string; readonly image: string; readonly message: string },
  ): ImageAnswer {
    const now = this.#deps.clock.monotonic();
    const { key, image, message } = failed;
    const next = backoffNext(this.#backoff.get(key), now, now, PULL_BACKOFF);
    this.#backoff.set(key, { ...next, message });
    this.#warn(request, "Failed", `Failed to pull image ${JSON.stringify(image)}: ${message}`);
    const reason = pullFailureReason(message);
    return { kind: "refused", reason, message, retryInMs: BACKOFF_SHOWS_MS };
  }

  /** One pull of an image at a time: who asks for the same one waits for that. */
  async #pull(
    image: string,
    request: ImageRequest,
    signal: AbortSignal,
  ): Promise<{ imageRef: string; tookMs: number; status: Image | undefined }> {
    let tookMs = 0;
    let pulling = this.#underWay.get(image);
    if (!pulling) {
      pulling = this.#pulls.add(async () => {
        signal.throwIfAborted();
        const began = this.#deps.clock.monotonic();
        const ref = await this.#deps.images.pullImage({ image, annotations: {} }, signal);
        tookMs = this.#deps.clock.monotonic() - began;
        return ref;
      }) as Promise<string>;
      this.#underWay.set(image, pulling);
      const forget = () => this.#underWay.delete(image);
      pulling.then(forget, forget);
    }
    const imageRef = await pulling;
    const status = await this.#deps.images.imageStatus(imageRef, signal).catch((error: unknown) => {
      this.#deps.log.verbose(2, "size of a pulled image is not known", {
        image,
        pod: request.pod.metadata?.name,
        error,
      });
      return undefined;
    });
    return { imageRef, tookMs, status };
  }

  #say({ pod, container }: ImageRequest, reason: string, message: string): void {
    this.#deps.recordEvent(pod, container, { type: "Normal", reason, message });
  }

  #warn({ pod, container }: ImageRequest, reason: string, message: string): void {
    this.#deps.recordEvent(pod, container, { type: "Warning", reason, message });
  }
}

function presentImage(ref: string, status: Image | undefined): PresentImage {
  return { ref, user: { uid: status?.uid?.value, username: status?.username ?? "" } };
}
