import { isOutside } from "../../kit/errors.ts";
import type { ClientCertificate } from "../../outside/serving.ts";
import { parseCertificateDer } from "../../outside/x509/x509.ts";
import type { Identity } from "../identity.ts";

/** Credentials of a request. */
export interface PresentedCredentials {
  readonly client: ClientCertificate;
  /** Of the header `Authorization: Bearer`. */
  readonly bearerToken: string | undefined;
  /** The header `Cookie`. */
  readonly cookie?: string | undefined;
}

/** Result of an authenticator. */
export type Authentication =
  | { readonly kind: "identity"; readonly identity: Identity }
  /** Nothing there that this authenticator could judge. */
  | { readonly kind: "nothing" }
  /** Credentials are present and invalid; the request is rejected, not treated as anonymous. */
  | { readonly kind: "refused"; readonly why: string };

/** One way of proving who one is; certificates here, tokens with an API server. */
export interface Authenticator {
  authenticate(credentials: PresentedCredentials, signal: AbortSignal): Promise<Authentication>;
}

/** Group of all authenticated users. */
export const ALL_AUTHENTICATED = "system:authenticated";

/** Clients of the agent's own socket are root on the node. */
export const LOCAL: Identity = { name: "local", groups: ["system:masters", ALL_AUTHENTICATED] };

/** Caller without credentials. */
export const ANONYMOUS: Identity = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/** The user and groups of a verified client certificate: common name and organizations. */
export const certificateAuthenticator: Authenticator = {
  authenticate: async ({ client }) => {
    if (client.kind === "none") return { kind: "nothing" };
    if (client.kind === "unverified") return { kind: "refused", why: client.why };
    const subject = subjectOf(client.der);
    if (subject === undefined || subject.commonName === "") return { kind: "nothing" };
    const identity = { name: subject.commonName, groups: subject.organizations };
    return { kind: "identity", identity };
  },
};

function subjectOf(
  der: Uint8Array,
): { readonly commonName: string; readonly organizations: readonly string[] } | undefined {
  try {
    return parseCertificateDer(der).subject;
  } catch (error) {
    // A name that readers could take for different ones proves nothing.
    if (isOutside(error, "invalid")) return undefined;
    throw error;
  }
}

/**
 * Asks one authenticator after the other; the first that knows the caller decides. `anonymous` lets
 * through who brings nothing at all (union.NewFailOnError).
 */
export function unionOf(
  authenticators: readonly Authenticator[],
  anonymous: boolean,
): Authenticator {
  return {
    authenticate: async (credentials, signal) => {
      let refused: Authentication | undefined;
      for (const each of authenticators) {
        const found = await each.authenticate(credentials, signal);
        if (found.kind === "identity") return { ...found, identity: authenticated(found.identity) };
        if (found.kind === "refused") refused ??= found;
      }
      if (refused) return refused;
      return anonymous ? { kind: "identity", identity: ANONYMOUS } : { kind: "nothing" };
    },
  };
}

function authenticated(identity: Identity): Identity {
  return identity.groups.includes(ALL_AUTHENTICATED)
    ? identity
    : { ...identity, groups: [...identity.groups, ALL_AUTHENTICATED] };
}
