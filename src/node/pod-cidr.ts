/**
 * Sends the runtime the addresses pods of this node get, for runtimes that make their network configuration out of it
 * (kubelet_network.go updatePodCIDR). In: the node's object, `podCIDR`. Out: a request to the runtime whenever it changes.
 */
import type { Node } from "../api/generated/types.ts";
import { retryDelayMs } from "../kit/backoff.ts";
import { Cell, type Reading, until } from "../kit/cell.ts";
import type { Clock } from "../kit/clock.ts";
import { isOutside } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";

interface PodCidrDeps {
  readonly runtime: Pick<Runtime, "service" | "watch">;
  /** The node's own object; undefined as long as the API has none. */
  readonly node: Reading<Node | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

const RETRY = { initialMs: 10_000, maxMs: 300_000 };

/** Keeps the runtime informed, in the scope. `podCIDR`: of the configuration, as long as the node's object has none. */
export function startPodCidr(
  { podCIDR }: { readonly podCIDR: string },
  { runtime, node, clock, log, scope }: PodCidrDeps,
): void {
  const currentPodCidr = () => (node.get()?.spec?.podCIDRs ?? []).join(",") || podCIDR;
  const podCidr = new Cell(currentPodCidr());
  if (node)
    scope.defer(
      "pod CIDR",
      node.subscribe(() => podCidr.set(currentPodCidr())),
    );
  scope.spawn("pod CIDR", "restart", async (signal) => {
    let previous = "";
    let failures = 0;
    const differs = (cidr: string) => cidr !== "" && cidr !== previous;
    while (!signal.aborted) {
      const cidr = podCidr.get();
      try {
        if (differs(cidr)) {
          await runtime.service.updateRuntimeConfig(cidr, signal);
          runtime.watch.expectNetwork();
          log.info("Updating Pod CIDR", { originalPodCIDR: previous, newPodCIDR: cidr });
          previous = cidr;
        }
        failures = 0;
      } catch (error) {
        if (signal.aborted || !isOutside(error)) throw error;
        failures += 1;
        log.warn("Error updating pod CIDR", { cidr, error });
        await clock.sleep(retryDelayMs(failures, RETRY), signal).catch(() => {});
        continue;
      }
      await until(podCidr, differs, signal).catch(() => {});
    }
  });
}
