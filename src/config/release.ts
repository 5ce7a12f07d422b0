// pure
/** Releases of Kubernetes whose defaults a node can have. */

/** A minor release of Kubernetes that the agent can follow. */
export type Release = "1.36" | "1.37";

/** The one that it follows unless `compat` names another. */
export const LATEST_RELEASE: Release = "1.37";

/** All of them, the oldest first. */
export const RELEASES: readonly Release[] = ["1.36", "1.37"];

/** The version of each that is followed. */
const VERSIONS: Readonly<Record<Release, string>> = { "1.36": "v1.36.2", "1.37": "v1.37.2" };

/** The version of Kubernetes that a node of this release reports, e.g. `v1.37.2`. */
export function versionOfRelease(release: Release): string {
  return VERSIONS[release];
}

/** The minor release before, e.g. `1.36`. */
export function releaseBefore(release: Release): string {
  const [major = "", minor = ""] = release.split(".");
  return `${major}.${Number(minor) - 1}`;
}

/** The release that `compat` names; the latest where it names none. A name that is none is reported by validation. */
export function releaseOf(compat: unknown): Release {
  return RELEASES.find((release) => release === compat) ?? LATEST_RELEASE;
}
