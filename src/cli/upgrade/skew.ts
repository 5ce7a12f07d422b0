// pure
/** Which versions a cluster may be upgraded to (https://kubernetes.io/releases/version-skew-policy/). */

import { type ClusterObstacle, newerThanServer } from "../control-plane/version-skew.ts";

/** Versions, like `v1.37.2`, and the command that starts the agent. */
interface UpgradeVersions {
  readonly cluster: string;
  readonly target: string;
  readonly node: string;
  readonly startWords: string;
}

/** Why a cluster of one version does not get to another one; undefined when it may. */
export function upgradeObstacle({
  cluster,
  target,
  node,
  startWords,
}: UpgradeVersions): ClusterObstacle | undefined {
  const [now, wanted, own] = [partsOf(cluster), partsOf(target), partsOf(node)];
  if (wanted.minor < now.minor || (wanted.minor === now.minor && wanted.patch < now.patch))
    return {
      problem: `the cluster has ${cluster} already, and ${target} is older`,
      fix: "a cluster never gets back to an older version; nodelet etcd restore brings back older data",
    };
  if (wanted.minor > now.minor + 1)
    return {
      problem: `from ${cluster} to ${target} is more than one minor release`,
      fix: `upgrade to the newest v1.${now.minor + 1} first`,
    };
  const tooNew = newerThanServer(target, node, startWords);
  if (tooNew !== undefined) return tooNew;
  if (wanted.minor - own.minor > MAX_BEHIND)
    return {
      problem: `this node is a ${node}, more than ${MAX_BEHIND} minor releases behind ${target}`,
      fix: "install a newer nodelet first",
    };
  return undefined;
}

/** How many minor releases a node may be older than its API server. */
const MAX_BEHIND = 3;

function partsOf(version: string): { minor: number; patch: number } {
  const [, minor = "0", patch = "0"] = /^v1\.(\d+)\.(\d+)/.exec(version) ?? [];
  return { minor: Number(minor), patch: Number(patch) };
}
