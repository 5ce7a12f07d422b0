// pure

/** Exit codes of the command line; documented in docs/cli.md. */
export const EXIT_OK = 0;
/** The thing asked for did not work. */
export const EXIT_FAILURE = 1;
/** Invalid usage: flags, configuration, arguments. */
export const EXIT_USAGE = 2;
/** The pod, node, container or image named is not there. */
export const EXIT_NOT_FOUND = 3;
/** The agent does not run, or does not answer on its socket. */
export const EXIT_NO_AGENT = 4;
