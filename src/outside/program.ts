/** Programs of the machine that are run to their end. */

/** A program to run to its end. */
export interface Program {
  /** Absolute, or a name that is searched in PATH. */
  readonly path: string;
  readonly args: readonly string[];
  /** Beside the agent's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input: string;
  readonly timeoutMs: number;
  /** Of both outputs together. */
  readonly maxOutputBytes: number;
}

/** How a program ended: with a code, or by a signal. */
export interface ProgramResult {
  /** -1 when it was ended by a signal. */
  readonly code: number;
  readonly by: string;
  readonly stdout: string;
  readonly stderr: string;
}
