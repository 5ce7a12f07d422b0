// pure

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
