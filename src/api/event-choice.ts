// pure
import type { CoreEvent } from "./generated/types.ts";

/** Which events are meant: those about the node, or those about pods of a name. */
export type EventChoice =
  | { readonly kind: "node" }
  | { readonly kind: "pod"; readonly namespace?: string; readonly name: string };

const POD_WORDS = new Set(["pod", "pods", "po"]);
const NODE_WORDS = new Set(["node", "nodes", "no"]);

/**
 * Reads `node`, `node/name`, `pod/name`, `pod/namespace/name` or `pod/uid`; `undefined` when it is none of
 * them. There is one node only, so its name says nothing more.
 */
export function parseEventChoice(text: string): EventChoice | undefined {
  const [kind = "", first, second, ...more] = text.split("/");
  if (more.length > 0 || first === "" || second === "") return undefined;
  if (NODE_WORDS.has(kind)) return second === undefined ? { kind: "node" } : undefined;
  if (!POD_WORDS.has(kind) || first === undefined) return undefined;
  if (second === undefined) return { kind: "pod", name: first };
  return { kind: "pod", namespace: first, name: second };
}

/**
 * Whether an event is meant. A name without a namespace may also be a UID, or the name of a static pod
 * without the node's name at its end.
 */
export function isChosen({ involvedObject, source }: CoreEvent, choice: EventChoice): boolean {
  if (choice.kind === "node") return involvedObject.kind === "Node";
  if (involvedObject.kind !== "Pod") return false;
  const { namespace, name } = choice;
  if (namespace !== undefined)
    return involvedObject.namespace === namespace && involvedObject.name === name;
  const { uid, name: of } = involvedObject;
  return of === name || uid === name || of === `${name}-${source?.host ?? ""}`;
}
