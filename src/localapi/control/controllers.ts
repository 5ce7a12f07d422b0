/** Controllers of a cluster as far as one node needs them; each is one loop over the objects. */
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { StoredObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import type { ObjectsCore } from "../objects/core.ts";
import type { ObjectRequest, User } from "../objects/object-request.ts";
import { isRefusal } from "../status-error.ts";

/** One step; a promise is awaited before the next step. */
type ControlStep = () => void | Promise<void>;

/** One controller: reads objects and plans steps. */
export interface Controller {
  readonly name: string;
  /** Resync interval without changes. */
  readonly everyMs: number;
  /** Steps to be taken now, in order. One that fails does not keep the others. */
  readonly plan: () => readonly ControlStep[];
}

/**
 * The steps for each object on its own. One that cannot be made sense of (kept by another version, or
 * damaged) is logged once and has no steps; the others have theirs.
 */
export function stepsForEach(
  { log, unplannable }: Pick<ObjectsCore, "log" | "unplannable">,
  objects: readonly StoredObject[],
  stepsOf: (object: StoredObject) => readonly (() => void)[],
): readonly (() => void)[] {
  return objects.flatMap((object) => {
    try {
      return stepsOf(object);
    } catch (error) {
      const { kind, metadata } = object;
      const name = [metadata.namespace ?? [], metadata.name].flat().join("/");
      if (!unplannable.has(object))
        log.warn("controller skips an invalid object", {
          kind,
          name,
          error,
        });
      unplannable.add(object);
      return [];
    }
  });
}

/** Texts of failures that are remembered. */
const MAX_FAILED = 100;

/** Rejections that the next pass resolves. */
const PASSING = ["AlreadyExists", "Conflict", "Forbidden", "NotFound"];

/** Keeps a controller going until the scope closes. */
export function startController(controller: Controller, core: ObjectsCore, scope: TaskScope): void {
  const { clock, store, log } = core;
  let failed = new Set<string>();
  const act = async (steps: readonly ControlStep[]) => {
    const before = failed;
    failed = new Set();
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        const problem = messageOf(error);
        if (isRefusal(error, ...PASSING)) {
          log.verbose(2, "controller step rejected", {
            controller: controller.name,
            error: problem,
          });
          continue;
        }
        // Logged once while it lasts: it is retried in every pass.
        if (!before.has(problem))
          log.warn("controller failed to apply a step", {
            controller: controller.name,
            error: problem,
          });
        if (failed.size < MAX_FAILED) failed.add(problem);
      }
    }
    await store.settled();
  };
  scope.spawn(controller.name, "restart", (signal) =>
    loop(controller, { clock, store, act }, signal),
  );
}

function loop(
  { name, everyMs, plan }: Controller,
  deps: {
    clock: Clock;
    store: ObjectsCore["store"];
    act: (steps: readonly ControlStep[]) => Promise<void>;
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

/** In whose name controllers are done. */
const CONTROLLER: User = {
  name: "system:kube-controller-manager",
  groups: ["system:masters", "system:authenticated"],
};

/** A request of the API itself for an object, or for a collection when the name is empty. */
export function ownRequest(kind: Kind, namespace: string, name: string): ObjectRequest {
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
