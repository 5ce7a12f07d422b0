/** Activity of connections to API servers and of credential programs, for metrics; reported from the start. */

/** Something that was measured. */
export type ApiActivityFact =
  /** The server's name was resolved. */
  | { readonly kind: "lookup"; readonly host: string; readonly seconds: number }
  /** A credential program ended; `code` is its exit code, `status` client-go's word for the outcome. */
  | { readonly kind: "program"; readonly code: string; readonly status: string }
  /** A credential program handed out another certificate; how long the one before was used. */
  | { readonly kind: "programCertificate"; readonly ageSeconds: number };

/** Facts that wait for the first listener. */
const MAX_WAITING = 1_000;

/** Counts and facts of one process. Facts from before there is a listener wait for it, the latest of them. */
export class ApiActivity {
  readonly #waiting: ApiActivityFact[] = [];
  #listener: ((fact: ApiActivityFact) => void) | undefined;
  #created = 0;
  #open = 0;
  #certificateUntilMs: number | undefined;

  /** Transports that were made. */
  get created(): number {
    return this.#created;
  }

  /** Transports that are not closed. */
  get open(): number {
    return this.#open;
  }

  /** When the certificate of the credential program expires, Unix milliseconds. */
  get certificateUntilMs(): number | undefined {
    return this.#certificateUntilMs;
  }

  /** A transport was made; the function is called when it is closed. */
  opened(): () => void {
    this.#created += 1;
    this.#open += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
    };
  }

  /** A credential program handed out a certificate that is good until then. */
  certificate(untilMs: number | undefined): void {
    this.#certificateUntilMs = untilMs;
  }

  report(fact: ApiActivityFact): void {
    if (this.#listener) {
      this.#listener(fact);
      return;
    }
    this.#waiting.push(fact);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
  }

  /** Hands every fact to `listener` from now on, first those that wait. */
  follow(listener: (fact: ApiActivityFact) => void): void {
    this.#listener = listener;
    for (const fact of this.#waiting.splice(0)) listener(fact);
  }
}
