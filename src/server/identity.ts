/** An authenticated caller. */
export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
  /** UID of the user, where the authority knows one. */
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
