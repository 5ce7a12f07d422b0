// pure

/** What became of granting a pod the devices that it asks for; reason and message are what the status shows. */
export type DeviceGrant =
  | { readonly kind: "granted" }
  | { readonly kind: "refused"; readonly reason: string; readonly message: string }
  | {
      readonly kind: "deferred";
      readonly reason: string;
      readonly message: string;
      /** To be asked again after this, or when the news say so. */
      readonly retryInMs: number;
    };
