/** Types of program-text.mjs. */
export function wrappedText(program: Buffer): string;
export function scriptOptions(filename: string): {
  readonly filename: string;
  readonly lineOffset: number;
};
