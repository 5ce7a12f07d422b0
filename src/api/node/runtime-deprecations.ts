// pure
import { isTree } from "../../kit/json.ts";

/** What a container runtime says of settings and requests of its own that a later version of it will not support. */

/** containerd's condition in the status of the CRI; it is met when there is nothing to say. */
export const NO_DEPRECATIONS = "ContainerdHasNoDeprecationWarnings";

/** A condition of the runtime's status. */
interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly message: string;
}

/** The warnings: containerd's message is a JSON object with a text for each, by the warning's id. */
export function deprecationsOf(conditions: readonly RuntimeCondition[]): readonly string[] {
  const condition = conditions.find(({ type }) => type === NO_DEPRECATIONS);
  if (condition === undefined || condition.status) return [];
  return textsOf(condition.message);
}

function textsOf(message: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(message);
    if (isTree(value)) return Object.values(value).map(String).toSorted();
  } catch {
    // Another form than containerd 1.7 to 2.4 have: as it is.
  }
  return [message];
}
