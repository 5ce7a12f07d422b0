// pure
/** Which versions a node may have beside its API server (https://kubernetes.io/releases/version-skew-policy/). */
import { RELEASES } from "../../config/release.ts";

/** A reason not to do something with a cluster, with what to do. */
export interface ClusterObstacle {
  readonly problem: string;
  readonly fix: string;
}

/**
 * Why a node of this version does not fit an API server of that one; undefined when it does. `startWords` are those of the
 * command that starts the agent.
 */
export function newerThanServer(
  server: string,
  node: string,
  startWords: string,
): ClusterObstacle | undefined {
  const minor = minorOf(server);
  if (!(minorOf(node) > minor)) return undefined;
  return {
    problem: `nodelet is a ${node}, and a node may not be newer than its API server with ${server}`,
    fix: RELEASES.some((release) => release === `1.${minor}`)
      ? `let it behave like that version: nodelet ${startWords} … -- --compat=1.${minor}`
      : "use an older nodelet, or a newer control plane",
  };
}

function minorOf(version: string): number {
  return Number(/^v1\.(\d+)\./.exec(version)?.[1] ?? Number.NaN);
}
