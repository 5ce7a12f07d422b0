// pure
import type { UpPaths } from "./paths.ts";

/** How kubectl finds the node's own API; undefined when the agent's flags make it a node of a cluster. */
export function kubectlHint(
  paths: Pick<UpPaths, "kubeconfig">,
  agentFlags: readonly string[],
): string | undefined {
  if (agentFlags.some((flag) => /^--(bootstrap-)?kubeconfig\b/.test(flag))) return undefined;
  return `kubectl --kubeconfig ${paths.kubeconfig} get pods`;
}
