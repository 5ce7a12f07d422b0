import type { Pod } from "../../api/generated/types.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { RuntimeClassList } from "../../outside/kube/kube.ts";

/**
 * The runtime's handler for the pod; empty for its default. Throws `OutsideError`: `precondition` for a
 * class that cannot be looked up, `notFound` for one that does not exist, `unavailable` before the
 * classes are known (runtimeclass_manager.go LookupRuntimeHandler).
 */
export function runtimeHandler(pod: Pod, classes: RuntimeClassList | undefined): string {
  const name = pod.spec?.runtimeClassName ?? "";
  if (name === "") return "";
  if (!classes)
    throw new OutsideError(
      "precondition",
      `RuntimeClass "${name}" cannot be looked up: there is no API server`,
    );
  const answer = classes.lookUp(name);
  switch (answer.kind) {
    case "found":
      return answer.handler;
    case "missing":
      throw new OutsideError("notFound", `runtimeclass.node.k8s.io "${name}" not found`);
    case "unknown": {
      const message = `RuntimeClass "${name}" is not known yet: the API server has not listed its classes`;
      throw new OutsideError("unavailable", message);
    }
    default:
      return answer satisfies never;
  }
}
