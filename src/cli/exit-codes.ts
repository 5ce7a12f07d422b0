// pure

/** Exit codes of the command line; documented in docs/cli.md. */
export const EXIT_OK = 0;
/** The thing asked for did not work. */
export const EXIT_FAILURE = 1;
/** What was asked for cannot be understood: flags, configuration, arguments. */
export const EXIT_USAGE = 2;
