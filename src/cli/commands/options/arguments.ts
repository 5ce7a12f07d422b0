/** Values of options that several commands have; commander reports an `InvalidArgumentError` with the option. */
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../../api/text/duration.ts";

/** A time with its unit, as milliseconds. */
export function readDuration(text: string): number {
  const parsed = parseDuration(text);
  if (parsed.ok && parsed.ms >= 0) return parsed.ms;
  throw new InvalidArgumentError("write a time with its unit, like 30s or 2m");
}

/** An age with its unit, more than nothing, as milliseconds. */
export function readAge(text: string): number {
  const parsed = parseDuration(text);
  if (parsed.ok && parsed.ms > 0) return parsed.ms;
  throw new InvalidArgumentError("write a time with its unit, like 30s or 2h");
}

/** A whole number; `unit` names what is counted in the error. */
export function readCount(text: string, unit = ""): number {
  const count = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(count) && count >= 0) return count;
  throw new InvalidArgumentError(`write a whole number${unit}`);
}
