// pure
import type { IdentifiedPod } from "./pod-identity.ts";
import type { PresentImage } from "./present-image.ts";

/** An image that a container is about to need. */
export interface ImageRequest {
  readonly pod: IdentifiedPod;
  readonly container: string;
  /** As the pod's spec names it. */
  readonly image: string;
  readonly policy: string;
}

/** Outcome of ensuring that an image is present. */
export type ImageOutcome =
  | {
      readonly kind: "present";
      readonly image: PresentImage;
      /** Releases the hold on the image: called once the container exists, or will not be created. */
      readonly release: () => void;
    }
  /** Not available now; reason and message are what the status shows. */
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly message: string;
      readonly retryInMs: number;
    };
