// pure
import { EXIT_FAILURE } from "./exit-codes.ts";
import { withoutControls } from "./text.ts";

/** Details of an error beside what failed. */
interface CliErrorOptions {
  /** Default `EXIT_FAILURE`. */
  readonly exitCode?: number;
  /** How to fix it, as a phrase; several lines are several proposals. */
  readonly fix?: string;
  readonly cause?: unknown;
}

/** An error for the user: printed in one line, the fix below it, and never with a stack. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  readonly fix: string | undefined;

  constructor(message: string, options: CliErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT_FAILURE;
    this.fix = options.fix;
  }
}

/** The error as it is printed, with a newline: `nodelet: what failed` and indented what to do. */
export function formatCliError(error: CliError): string {
  const fix = withoutControls(error.fix ?? "")
    .split("\n")
    .filter((line) => line !== "");
  return [`nodelet: ${withoutControls(error.message)}`, ...fix.map((line) => `  ${line}`)]
    .join("\n")
    .concat("\n");
}
