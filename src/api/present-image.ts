// pure

/** An image that the runtime has, as far as starting a container needs to know it. */
export interface PresentImage {
  /** Its reference in the runtime. */
  readonly ref: string;
  readonly user: ImageUser;
}

/** The user an image names: by number, or by a name that only the image's own files resolve; empty is root. */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}
