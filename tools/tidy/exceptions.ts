// pure
/** Where a rule of size does not hold, and why. Everything else is mended, not listed. */

/** Files that may be longer, with the reason. */
export const LONG_FILES: Readonly<Record<string, string>> = {};

/** Functions that may be longer or take more parameters, as `path name`, with the reason. */
export const LARGE_FUNCTIONS: Readonly<Record<string, string>> = {};

/** Files that may spread lists into calls, with the reason. */
export const SPREAD_CALLS: Readonly<Record<string, string>> = {
  "src/localapi/kinds/catalog.ts": "names of fields that stand in the program",
  "src/outside/host/resolve-beneath.ts": "the parts of a path, 4096 bytes at most",
  "src/outside/host/worker/run-operation.ts": "the arguments of a method",
  "src/outside/net/http-reply.ts": "4096 bytes at most",
  "src/outside/x509/names.ts": "names of one certificate",
  "src/outside/x509/x509.ts": "fields of one certificate",
  "src/subsystems/logs/fragments.ts":
    "the head of a line, 96 bytes at most, at every line of a log",
};
