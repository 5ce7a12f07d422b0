// pure

/** Folders that are measured in one request to a worker, and how long they take together as far as is known. */
const MAX_TOGETHER = 500;
const TOGETHER_MS = 200;
/**
 * Groups of folders that are measured together. A group takes at most `TOGETHER_MS` by what each took the last time; a
 * folder of which nothing is known stands alone.
 */
export function groupByTime(
  paths: readonly string[],
  tookMs: (path: string) => number | undefined,
): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let latest: string[] = [];
  let leftMs = 0;
  for (const path of paths) {
    const costMs = tookMs(path);
    if (costMs === undefined) {
      groups.push([path]);
      continue;
    }
    if (costMs > leftMs || latest.length === 0 || latest.length >= MAX_TOGETHER) {
      latest = [];
      groups.push(latest);
      leftMs = TOGETHER_MS;
    }
    latest.push(path);
    leftMs -= costMs;
  }
  return groups;
}
