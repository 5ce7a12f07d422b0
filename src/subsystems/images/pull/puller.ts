/**
 * Pulling images. Owns: pulls under way. In: what is to be pulled, with which credentials. Out: the image's id
 * and how long it took. Invariants: one pull of an image with the same credentials at a time, which lives as
 * long as a caller waits for it; registries do not wait for each other.
 */
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { TokenBucket } from "../../../kit/limits/token-bucket.ts";
import { untilAborted } from "../../../kit/within.ts";
import type { ImageService } from "../../../outside/cri/cri.ts";
import type { TrackedCredentials } from "../credentials/keyring.ts";
import { credentialHash } from "../credentials/registry-access.ts";
import { aggregateErrors } from "../gc/gc-texts.ts";
import { registryOf } from "../image-names.ts";
import { type LaneOptions, type PullLane, PullLanes, type PullStanding } from "./pull-lanes.ts";

/** Bounds of all pulls. */
export interface PullerOptions extends LaneOptions {
  /** Pulls a second that may begin; 0 is no limit. */
  readonly qps: number;
  /** Pulls that may begin at once above that rate. */
  readonly burst: number;
}

/** One image for one pod. */
interface PullSpec {
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Tried in this order; none means without. */
  readonly credentials: readonly TrackedCredentials[];
}

/** A pull that succeeded. */
export interface PulledImage {
  readonly imageRef: string;
  /** Without the waiting before. */
  readonly tookMs: number;
  /** Credentials the pull succeeded with; `undefined` for an anonymous one. */
  readonly credentials: TrackedCredentials | undefined;
}

interface SharedPull {
  readonly result: Promise<PulledImage>;
  readonly abort: AbortController;
  askers: number;
  readonly standing: () => PullStanding | undefined;
}

const LOST_LAYER = /parent snapshot \S+ does not exist/;
const LOST_LAYER_RETRIES = 3;

/** See the head of this file. */
export class Puller {
  readonly #images: Pick<ImageService, "pullImage">;
  readonly #clock: Clock;
  readonly #lanes: PullLanes;
  readonly #underWay = new Map<string, SharedPull>();
  readonly #budget: TokenBucket;

  constructor(options: PullerOptions, images: Pick<ImageService, "pullImage">, clock: Clock) {
    this.#images = images;
    this.#clock = clock;
    this.#lanes = new PullLanes(options, clock);
    this.#budget = new TokenBucket(options, clock);
  }

  /**
   * containerd may lose a layer that a pull counts on when another image with that layer is removed at the
   * same time; asked again, it fetches what is missing.
   */
  async #pullPastRemovals(
    request: Parameters<ImageService["pullImage"]>[0],
    signal: AbortSignal,
  ): Promise<string> {
    for (let left = LOST_LAYER_RETRIES; ; left -= 1) {
      try {
        return await this.#images.pullImage(request, signal);
      } catch (error) {
        if (left === 0 || signal.aborted || !LOST_LAYER.test(messageOf(error))) throw error;
      }
    }
  }

  /** Pulls, or joins the same pull that is under way. `onStanding` is called with its progress. */
  async pull(
    spec: PullSpec,
    signal: AbortSignal,
    onStanding: (standing: () => PullStanding | undefined) => void = () => {},
  ): Promise<PulledImage> {
    signal.throwIfAborted();
    const key = `${spec.image} ${spec.credentials.map(credentialHash).join(" ")}`;
    const shared = this.#underWay.get(key) ?? this.#begin(key, spec);
    shared.askers += 1;
    onStanding(shared.standing);
    try {
      return await untilAborted(shared.result, signal);
    } finally {
      shared.askers -= 1;
      if (shared.askers === 0) {
        if (this.#underWay.get(key) === shared) this.#underWay.delete(key);
        shared.abort.abort(new Error(`no pod is waiting for image ${spec.image} any more`));
      }
    }
  }

  #begin(key: string, spec: PullSpec): SharedPull {
    const abort = new AbortController();
    const work = () => this.#pullWithAll(spec, abort.signal);
    let lane: PullLane | undefined;
    const result = this.#lanes.run(registryOf(spec.image), work, abort.signal, (given) => {
      lane = given;
    });
    const shared: SharedPull = { result, abort, askers: 0, standing: () => lane?.standing() };
    this.#underWay.set(key, shared);
    const forget = () => {
      if (this.#underWay.get(key) === shared) this.#underWay.delete(key);
    };
    result.then(forget, forget);
    return shared;
  }

  /** Tries one credential after the other; without any it is tried without. */
  async #pullWithAll(spec: PullSpec, signal: AbortSignal): Promise<PulledImage> {
    const began = this.#clock.monotonic();
    const { image, annotations, credentials } = spec;
    const tries = credentials.length === 0 ? [undefined] : credentials;
    const errors: string[] = [];
    for (const tried of tries) {
      try {
        this.#takeToken();
        const auth = tried && {
          auth: { username: tried.username, password: tried.password, serverAddress: "" },
        };
        const imageRef = await this.#pullPastRemovals({ image, annotations, ...auth }, signal);
        return { imageRef, tookMs: this.#clock.monotonic() - began, credentials: tried };
      } catch (error) {
        if (signal.aborted) throw error;
        errors.push(messageOf(error));
      }
    }
    throw new OutsideError("io", aggregateErrors(errors));
  }

  /** Does not wait: what comes too often fails and backs off (images/helpers.go throttledImageService). */
  #takeToken(): void {
    if (!this.#budget.tryTake()) throw new OutsideError("exhausted", "pull QPS exceeded");
  }
}
