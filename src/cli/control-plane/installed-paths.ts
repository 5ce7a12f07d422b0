import { readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { clusterPaths } from "./places.ts";

/** The paths of what `up` has made there, which are others on a node of a cluster. */
interface Installation {
  readonly paths: UpPaths;
  readonly isCluster: boolean;
}

/** Reads what `up` has made at the places that the user named. */
export function installedPaths(paths: UpPaths): Installation {
  const isCluster = readLedger(paths.ledger)?.cluster !== undefined;
  return { paths: isCluster ? clusterPaths(paths) : paths, isCluster };
}
