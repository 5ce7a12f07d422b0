/** What a cluster's controllers do as far as one node needs it; each duty is one loop over the objects. */
import type { Clock } from "../../kit/clock.ts";
import { runControlLoop } from "../../kit/control-loop.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Kind } from "../kinds/kind.ts";
import type { ObjectsCore } from "../objects/core.ts";
import type { Order, User } from "../objects/order.ts";
import { isRefusal } from "../status-error.ts";

/** One duty: looks, and says what is to be done. */
export interface Duty {
  readonly name: string;
  /** How often it looks when nothing changes. */
  readonly everyMs: number;
  /** Steps to be taken now, in order. One that fails does not keep the others. */
  readonly plan: () => readonly (() => void)[];
}

/** Refusals that the next look settles. */
const PASSING = ["AlreadyExists", "Conflict", "Forbidden", "NotFound"];

/** Keeps a duty going until the scope closes. */
export function startDuty(duty: Duty, core: ObjectsCore, scope: TaskScope): void {
  const { clock, store, log } = core;
  const act = async (steps: readonly (() => void)[]) => {
    for (const step of steps) {
      try {
        step();
      } catch (error) {
        if (!isRefusal(error, ...PASSING)) throw error;
        log.verbose(2, "a step was refused", { duty: duty.name, problem: error.message });
      }
    }
    await store.settled();
  };
  scope.spawn(duty.name, "restart", (signal) => loop(duty, { clock, store, act }, signal));
}

function loop(
  { name, everyMs, plan }: Duty,
  deps: {
    clock: Clock;
    store: ObjectsCore["store"];
    act: (steps: readonly (() => void)[]) => Promise<void>;
  },
  signal: AbortSignal,
): Promise<void> {
  return runControlLoop(
    {
      name,
      everyMs,
      wakeOn: [deps.store.versions],
      plan: () => {
        const steps = plan();
        return steps.length === 0 ? undefined : steps;
      },
      act: deps.act,
    },
    deps.clock,
    signal,
  );
}

/** In whose name duties are done. */
const CONTROLLER: User = {
  name: "system:kube-controller-manager",
  groups: ["system:masters", "system:authenticated"],
};

/** An order of our own for an object, or for a collection where the name is empty. */
export function ownOrder(kind: Kind, namespace: string, name: string): Order {
  return {
    kind,
    namespace,
    name,
    subresource: "",
    user: CONTROLLER,
    manager: "nodelet",
    dryRun: false,
    fieldValidation: "Ignore",
    warnings: [],
  };
}
