// pure

/** A refusal with the text that the caller gets. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  readonly status: number;

  constructor(status: number, text: string, cause?: unknown) {
    super(text, cause === undefined ? undefined : { cause });
    this.status = status;
  }
}
