// pure
/** What came of trying the OCI runtimes of the machine. */

/** Result of running a container with a runtime. */
interface OciTrial {
  /** Digest of the programs that were tried. */
  readonly programs: string;
  /** Why it could run none; undefined when it could. */
  readonly problem?: string;
}

/** Results by the name of the runtime. */
export type OciTrials = Readonly<Record<string, OciTrial>>;
