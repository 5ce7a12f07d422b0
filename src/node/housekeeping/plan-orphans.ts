// pure

/** Remains of pods found on the machine. */
interface FoundPodRemains {
  /** Names of folders below `<root>/pods`. */
  readonly podFolders: readonly string[];
  /** Names of folders below the log root, `<namespace>_<name>_<uid>`. */
  readonly logFolders: readonly string[];
  /** Pods' cgroups. */
  readonly cgroups: readonly { readonly uid: string; readonly qos: string }[];
}

/** The same, of orphaned pods. */
export type OrphanedPodRemains = FoundPodRemains;

/** Remains that belong to none of the known pods (kubelet HandlePodCleanups). */
export function planOrphans(
  found: FoundPodRemains,
  isKnown: (uid: string) => boolean,
): OrphanedPodRemains | undefined {
  const podFolders = found.podFolders.filter((uid) => !isKnown(uid));
  const logFolders = found.logFolders.filter((name) => {
    const uid = uidOfLogFolder(name);
    return uid !== undefined && !isKnown(uid);
  });
  const cgroups = found.cgroups.filter(({ uid }) => !isKnown(uid));
  if (podFolders.length + logFolders.length + cgroups.length === 0) return undefined;
  return { podFolders, logFolders, cgroups };
}

/** The pod a log folder belongs to; other folders below the log root are not ours. */
export function uidOfLogFolder(name: string): string | undefined {
  const parts = name.split("_");
  const uid = parts.at(-1);
  return parts.length === 3 && uid !== "" ? uid : undefined;
}
