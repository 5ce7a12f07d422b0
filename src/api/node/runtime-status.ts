// pure
/** What a runtime says of itself, as the node shows it. */
import type { NodeRuntimeHandler } from "../generated/types.ts";

/** A condition of the runtime (CRI `RuntimeCondition`). */
interface RuntimeCondition {
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A handler of the runtime (CRI `RuntimeHandler`). */
interface OfferedHandler {
  readonly name: string;
  readonly features?:
    | { readonly recursiveReadOnlyMounts: boolean; readonly userNamespaces: boolean }
    | undefined;
}

/** A condition as Go prints it (RuntimeCondition.String). */
export function conditionText(type: string, condition: RuntimeCondition | undefined): string {
  const { status = false, reason = "", message = "" } = condition ?? {};
  return `${type}=${status} reason:${reason} message:${message}`;
}

/** Handlers for the node's status. */
export function nodeHandlers(offered: readonly OfferedHandler[]): readonly NodeRuntimeHandler[] {
  return offered.map(({ name, features }) => {
    if (!features) return { name };
    const { recursiveReadOnlyMounts, userNamespaces } = features;
    return { name, features: { recursiveReadOnlyMounts, userNamespaces } };
  });
}
