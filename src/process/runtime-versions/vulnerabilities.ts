// pure
/** Published vulnerabilities of containerd and runc through which pods reach the node, and the versions that fix them. */

/** A program that runs pods. */
export type RuntimeProgram = "containerd" | "runc";

/** One published vulnerability that no setting of a pod avoids: only another version of the program fixes it. */
interface RuntimeVulnerability {
  readonly name: string;
  readonly program: RuntimeProgram;
  /** First version that has it; absent when the oldest ones do. */
  readonly since?: string;
  /** First fixed version of each release series that was fixed, oldest first. Series between them stay vulnerable. */
  readonly fixedIn: readonly string[];
}

const RUNC_2025 = { program: "runc", fixedIn: ["1.2.8", "1.3.3", "1.4.0"] } as const;
const CHECKPOINTS_2026 = {
  program: "containerd",
  since: "2.1.0",
  fixedIn: ["2.1.9", "2.2.5", "2.3.2"],
} as const;
const IMAGES_2026 = {
  program: "containerd",
  fixedIn: ["1.7.33", "2.0.10", "2.1.9", "2.2.5", "2.3.2"],
} as const;

/** From the advisories of runc and containerd on GitHub. */
export const RUNTIME_VULNERABILITIES: readonly RuntimeVulnerability[] = [
  { name: "CVE-2025-31133", ...RUNC_2025 },
  { name: "CVE-2025-52565", ...RUNC_2025 },
  { name: "CVE-2025-52881", ...RUNC_2025 },
  { name: "CVE-2022-31030", program: "containerd", fixedIn: ["1.5.13", "1.6.6"] },
  { name: "CVE-2026-47262", ...IMAGES_2026 },
  { name: "CVE-2026-53488", ...IMAGES_2026 },
  { name: "CVE-2026-50195", ...CHECKPOINTS_2026 },
  { name: "CVE-2026-53489", ...CHECKPOINTS_2026 },
  { name: "CVE-2026-53492", ...CHECKPOINTS_2026 },
];

/** What is known of one program in one version. */
interface VulnerableProgram {
  readonly program: RuntimeProgram;
  readonly version: string;
  /** Names of the vulnerabilities; at least one. */
  readonly names: readonly string[];
  /** The version nearest to it in which all of them are fixed. */
  readonly fixedIn: string;
}

/**
 * Judges a version by its numbers. A distribution may have fixed a vulnerability without changing them. `undefined` when
 * nothing is known, which includes versions without numbers.
 */
export function vulnerabilitiesOf(
  program: RuntimeProgram,
  version: string,
): VulnerableProgram | undefined {
  const own = numbersOf(version);
  if (own === undefined) return undefined;
  const found = RUNTIME_VULNERABILITIES.filter(
    (each) => each.program === program && isVulnerable(own, each),
  );
  const fixes = found.map(({ fixedIn }) => nearestFix(own, fixedIn)).sort(compareText);
  const fixedIn = fixes.at(-1);
  if (fixedIn === undefined) return undefined;
  return { program, version, names: found.map(({ name }) => name), fixedIn };
}

type Numbers = readonly [major: number, minor: number, patch: number];

/** `1.6.20~ds1`, `v2.1.9+unknown`. Numbers before a release candidate are those of the version before. */
function numbersOf(version: string): Numbers | undefined {
  const match = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})([-~](?:alpha|beta|rc))?/.exec(version);
  if (!match) return undefined;
  const [, major, minor, patch, candidate] = match;
  return [Number(major), Number(minor), Number(patch) - (candidate === undefined ? 0 : 1)];
}

function isVulnerable(own: Numbers, { since, fixedIn }: RuntimeVulnerability): boolean {
  const first = since === undefined ? undefined : numbersOf(since);
  if (first && compare(own, first) < 0) return false;
  const fix = fixedIn.map(numbersOf).find((each) => each && isSameSeries(own, each));
  const newest = fix ?? numbersOf(fixedIn.at(-1) ?? "");
  return newest !== undefined && compare(own, newest) < 0;
}

function nearestFix(own: Numbers, fixedIn: readonly string[]): string {
  const later = fixedIn.filter((text) => compare(numbersOf(text) ?? [0, 0, 0], own) > 0);
  return later[0] ?? "";
}

const isSameSeries = (a: Numbers, b: Numbers): boolean => a[0] === b[0] && a[1] === b[1];
const compare = (a: Numbers, b: Numbers): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
const compareText = (a: string, b: string): number =>
  compare(numbersOf(a) ?? [0, 0, 0], numbersOf(b) ?? [0, 0, 0]);
