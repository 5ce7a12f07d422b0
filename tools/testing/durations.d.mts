/** Types of durations.mjs, which is plain JavaScript as the runner is. */
export function readDurations(file?: string): Map<string, number>;
export function keepDurations(entries: Iterable<readonly [string, number]>, file?: string): void;
export function createForecast(
  files: readonly { readonly path: string; readonly kind: string }[],
  known?: ReadonlyMap<string, number>,
): {
  left(
    done: Iterable<string>,
    seconds: number,
    running?: Iterable<readonly [path: string, seconds: number]>,
  ): number;
};
export function roughly(seconds: number): string;
