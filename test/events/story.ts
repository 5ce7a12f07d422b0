import type { AgentWorld, AgentWorldOptions } from "./agent-world.ts";

/** Something that happens to a pod or to the node, and what users must see of it. */
export interface Story {
  readonly name: string;
  readonly world?: AgentWorldOptions;
  readonly live: (world: AgentWorld) => Promise<void>;
  /** Whom it is about; the pod `web` by default. */
  readonly about?: string;
  /** Expected events, in this order; others may occur between. */
  readonly reported: readonly string[];
}

export const NO_DNS =
  'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';

/** A program that fails soon after it has started. */
export const EXIT = { kind: "exit", code: 3, afterMs: 100 } as const;
