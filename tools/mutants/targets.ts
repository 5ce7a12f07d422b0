/** Files that decide who may do what, and the unit tests that hold them to it. */

const ACCESS = "test/server/access.test.ts";
const HOSTILE = "test/localapi/hostile.test.ts";
const X509 = "src/outside/x509/x509.test.ts";
const MALFORMED = "src/outside/x509/malformed.test.ts";
const ENCODING = "src/outside/x509/encoding.test.ts";

/** Tests by source file; the quickest first, since the first failure ends a run. */
export const TARGETS: Readonly<Record<string, readonly string[]>> = {
  "src/server/access/authenticate.ts": ["src/server/access/access-decisions.test.ts", ACCESS],
  "src/server/access/authorize.ts": ["src/server/access/access-decisions.test.ts", ACCESS],
  "src/server/access/delegated.ts": ["src/server/access/delegated.test.ts"],
  "src/server/access/serving-certificate.ts": ["test/server/serving-certificate.test.ts"],
  "src/localapi/access/authenticate.ts": ["src/localapi/access/access-decisions.test.ts", HOSTILE],
  "src/localapi/access/authorize.ts": ["src/localapi/access/access-decisions.test.ts", HOSTILE],
  "src/localapi/access/impersonate.ts": ["src/localapi/access/access-decisions.test.ts", HOSTILE],
  "src/localapi/access/restrict-node.ts": ["src/localapi/access/access-decisions.test.ts", HOSTILE],
  "src/localapi/access/tokens.ts": ["src/localapi/access/tokens.test.ts", HOSTILE],
  "src/localapi/access/credentials.ts": [
    "src/localapi/access/credentials.test.ts",
    "test/localapi/node-certificates.test.ts",
  ],
  "src/localapi/control/signer.ts": [
    "src/localapi/control/signer.test.ts",
    "test/localapi/node-certificates.test.ts",
  ],
  "src/outside/tokens/tokens.ts": ["src/outside/tokens/tokens.test.ts"],
  "src/outside/net/serve/client-certificates.ts": [
    "test/server/listener-tls.test.ts",
    "test/server/peer-limits.test.ts",
  ],
  "src/outside/net/serve/tls-options.ts": ["test/server/listener-tls.test.ts"],
  "src/outside/net/serve/request-target.ts": [
    "src/outside/net/serve/request-target.test.ts",
    ACCESS,
  ],
  "src/outside/x509/x509.ts": [ENCODING, X509, "test/localapi/node-certificates.test.ts"],
  "src/outside/x509/read-certificate.ts": [MALFORMED, X509],
  "src/outside/x509/names.ts": [MALFORMED, X509],
  "src/outside/x509/der.ts": [MALFORMED, ENCODING, X509],
  "src/outside/x509/pem.ts": [MALFORMED, X509],
  "src/outside/host/beneath.ts": ["src/outside/host/beneath.test.ts"],
  "src/outside/host/resolve-beneath.ts": ["src/outside/host/resolve-beneath.test.ts"],
  "src/outside/host/files/change-beneath.ts": [
    "src/outside/host/files/change-beneath.test.ts",
    "src/subsystems/logs/rotate-log.test.ts",
    "test/contracts/host-contract.test.ts",
  ],
};
