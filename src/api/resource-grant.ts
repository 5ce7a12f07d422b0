// pure

/** Outcome of granting a pod what it requests of devices, CPUs or memory; reason and message are shown in its status. */
export type ResourceGrant =
  | { readonly kind: "granted" }
  | { readonly kind: "refused"; readonly reason: string; readonly message: string }
  | {
      readonly kind: "deferred";
      readonly reason: string;
      readonly message: string;
      /** To be asked again after this, or when the news say so. */
      readonly retryInMs: number;
    };
