import type { Log } from "../../kit/log.ts";
import { bearerTokenOf, type Exchange } from "../../outside/serving.ts";
import { parseCertificateDer } from "../../outside/x509/x509.ts";
import type { User } from "../objects/object-request.ts";
import { readToken, type TokenDeps } from "./tokens.ts";

const AUTHENTICATED = "system:authenticated";

/** The user of a request, from its certificate or token. Undefined when unauthenticated. */
export function authenticate(
  { client, headers }: Pick<Exchange, "client" | "headers">,
  tokens: TokenDeps,
  log: Log,
): User | undefined {
  if (client.kind === "verified") return userOfCertificate(client.der, log);
  const token = bearerTokenOf(headers["authorization"]);
  return token === undefined ? undefined : readToken(tokens, token)?.user;
}

/** The common name is the user, the organizations are the groups. Only for authenticating clients. */
function userOfCertificate(der: Uint8Array, log: Log): User | undefined {
  try {
    const { subject, usages } = parseCertificateDer(der);
    if (subject.commonName === "" || !usages.includes("clientAuth")) return undefined;
    return { name: subject.commonName, groups: [...subject.organizations, AUTHENTICATED] };
  } catch (error) {
    log.verbose(2, "failed to read the client certificate", { error });
    return undefined;
  }
}
