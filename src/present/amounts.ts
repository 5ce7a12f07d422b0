// pure
/** Times and sizes for people. */

const SECOND = 1000;

/** Seconds in words for a sentence: `0.4 s`, `10 s`, `5 min`, `1 min 20 s`. */
export function spokenDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? "" : ` ${rest} s`}`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A size with three figures at most: `512 B`, `1.5 MiB`, `23.5 GiB`. */
export function humanBytes(bytes: number): string {
  let amount = Math.max(0, bytes);
  let unit = 0;
  while (amount >= 1000 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 100 ? 0 : 1;
  return `${Number(amount.toFixed(digits))} ${UNITS[unit]}`;
}

/** A span to the millisecond: `50 ms`, `1 s`, `1.5 s`, `10 s`. */
export function preciseText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms) / 1000} s`;
}
