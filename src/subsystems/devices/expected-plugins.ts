import { isStaticPod } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";

interface ExpectedPluginsDeps {
  readonly clock: Pick<Clock, "monotonic">;
  /** How long a pod waits for a plugin; 0 not at all. */
  readonly deferMs: number;
  /** How much of the resource the node was last shown to have; `undefined` when it was not shown to have any. */
  readonly advertised?: (resource: string) => string | undefined;
}

/**
 * Resources whose plugin is worth waiting for although none has offered them since the agent started. A resource that somebody
 * has added to the node's status, for which no plugin ever comes, is not: its pods run at once, as with the Go kubelet.
 */
export class ExpectedPlugins {
  /** What was found of the checkpoint, which names all plugins that were here. */
  checkpoint: "read" | "missing" | "broken" = "read";
  readonly #deps: ExpectedPluginsDeps;
  readonly #startedAt: MonotonicMs;

  constructor(deps: ExpectedPluginsDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  /** Whether there was no checkpoint that says which plugins were here, and who had their devices. */
  get hasNoRecord(): boolean {
    return this.checkpoint !== "read";
  }

  /** Whether a plugin may still come that offers the resource. */
  expects(pod: IdentifiedPod, resource: string): boolean {
    const { clock, deferMs, advertised } = this.#deps;
    if (deferMs === 0) return false;
    if (isStaticPod(pod)) return true;
    const amount = advertised?.(resource);
    if (amount === undefined) return false;
    // What a plugin offered that has gone is shown as none, and so is everything when the node registers without a checkpoint.
    // Whoever adds a resource to the status shows some.
    if (Number.parseFloat(amount) === 0) return true;
    if (this.checkpoint === "missing") return clock.monotonic() - this.#startedAt < deferMs;
    // When a checkpoint cannot be read, the node still shows the amounts that its plugins offered.
    return this.checkpoint === "broken";
  }
}
