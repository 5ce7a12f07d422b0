// pure
/** Times and sizes for people. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A span of time as kubectl writes ages: `12s`, `3m20s`, `5h`, `2d4h`, `3y` (apimachinery HumanDuration). */
export function humanDuration(ms: number): string {
  if (ms < -2 * SECOND) return "<invalid>";
  const span = Math.max(0, ms);
  const two = (big: number, unit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((span % big) / small);
    return `${Math.floor(span / big)}${unit}${rest === 0 ? "" : `${rest}${smallUnit}`}`;
  };
  if (span < 2 * MINUTE) return `${Math.floor(span / SECOND)}s`;
  if (span < 10 * MINUTE) return two(MINUTE, "m", SECOND, "s");
  if (span < 3 * HOUR) return `${Math.floor(span / MINUTE)}m`;
  if (span < 8 * HOUR) return two(HOUR, "h", MINUTE, "m");
  if (span < 2 * DAY) return `${Math.floor(span / HOUR)}h`;
  if (span < 8 * DAY) return two(DAY, "d", HOUR, "h");
  if (span < 2 * YEAR) return `${Math.floor(span / DAY)}d`;
  if (span < 8 * YEAR) return two(YEAR, "y", DAY, "d");
  return `${Math.floor(span / YEAR)}y`;
}

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
