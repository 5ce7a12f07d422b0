/** Taints nodes under pressure, so that pods which do not tolerate that wait (nodelifecycle TaintNodesByCondition). */
import type { Node, Taint } from "../../api/generated/types.ts";
import { type Stored, storedAs } from "../api-object.ts";
import { NODE_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { type Controller, stepsForEach } from "./controllers.ts";
import { taintsUnderPressure } from "./pressure-taints.ts";

const EVERY_MS = 30_000;

/** See the head of this file. */
export function nodeTaintController(core: ObjectsCore): Controller {
  const { store } = core;
  return {
    name: "local API: taints of nodes",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(NODE_KIND.collection), (object) => {
        const node = storedAs<Node>(object);
        const { spec, status } = node;
        const taints = taintsUnderPressure(spec?.taints ?? [], status?.conditions ?? []);
        if (!taints) return [];
        return [() => void store.put(NODE_KIND.collection, withTaints(node, taints))];
      }),
  };
}

function withTaints(node: Stored<Node>, taints: readonly Taint[]): Stored<Node> {
  return { ...node, spec: { ...node.spec, taints } };
}
