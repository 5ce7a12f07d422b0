import { readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { clusterPaths } from "./places.ts";

/** The paths of what `up` has made there, which are others on a node of a cluster. */
interface Installation {
  readonly paths: UpPaths;
  readonly isCluster: boolean;
  /** Words of the command that starts it again. */
  readonly startWords: "up" | "up --control-plane" | "join";
  /** Whether routes to the pods of other nodes are ours to keep: not where pods have a network that others have set up. */
  readonly podRoutes: boolean;
}

/** Reads what `up` has made at the places that the user named. */
export function installedPaths(paths: UpPaths): Installation {
  const { cluster, runtime } = readLedger(paths.ledger) ?? {};
  const isCluster = cluster !== undefined;
  const isOurs = runtime?.kind === "own" && cluster?.networkPlugin !== true;
  const podRoutes = isCluster && isOurs && cluster.podRoutes !== false;
  const ofCluster = cluster?.joined === true ? "join" : "up --control-plane";
  const startWords = isCluster ? ofCluster : "up";
  return { startWords, paths: isCluster ? clusterPaths(paths) : paths, isCluster, podRoutes };
}
