// pure

/** Numbers of a version, the most significant first. */
export type DriverVersion = readonly number[];

/** The newest major version of CSI that is spoken. */
const MAJOR = 1;
const FORM = /^v?(\d{1,9}(?:\.\d{1,9})+)(?:[-+].*)?$/;

/** A version with two numbers at least; `undefined` for anything else. */
function parsed(text: string): DriverVersion | undefined {
  const numbers = FORM.exec(text.trim())?.[1];
  return numbers?.split(".").map(Number);
}

/** Below 0 when `a` is the older one. */
export function compareVersions(a: DriverVersion, b: DriverVersion): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The newest version that both speak. What cannot be read, and newer majors, are left out
 * (csi_plugin.go highestSupportedVersion).
 */
export function highestSupported(
  versions: readonly string[],
): { readonly version: DriverVersion } | { readonly problem: string } {
  if (versions.length === 0)
    return { problem: "CSI driver reporting empty array for supported versions" };
  const known = versions
    .map(parsed)
    .filter((version) => version !== undefined)
    .filter(([major = 0]) => major <= MAJOR)
    .toSorted(compareVersions);
  const version = known.at(-1);
  if (version === undefined)
    return {
      problem: `could not find a highest supported version from versions (${versions.join(", ")}) reported by this driver`,
    };
  if (version[0] !== MAJOR)
    return {
      problem: `highest supported version reported by driver is ${version.join(".")}, must be v1.x`,
    };
  return { version };
}
