// pure

/** The node in a few figures. */
export interface NodeSummary {
  readonly name: string;
  readonly ready: boolean;
  /** Why it is not ready; empty when it is. */
  readonly why: string;
  readonly version: string;
  /** E.g. `containerd 1.6.20`. */
  readonly runtime: string;
  /** When the agent began, Unix milliseconds. */
  readonly startedAt: number;
  /** `used` is `undefined` where it is not measured. */
  readonly cpuMilli: { readonly used: number | undefined; readonly capacity: number };
  readonly memoryBytes: { readonly used: number | undefined; readonly capacity: number };
  readonly pods: { readonly count: number; readonly max: number };
  /** Manifests that cannot be used, as `file: what is wrong`. */
  readonly problems: readonly string[];
}
