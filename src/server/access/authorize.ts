import { messageOf } from "../../kit/errors.ts";
import type { Identity } from "../identity.ts";
import type { RouteAccess } from "../route-table.ts";
import { verbOf } from "../route-table.ts";

/** One thing a caller may or may not do: `verb` on `nodes/<name>/<subresource>`. */
export interface Attributes {
  readonly identity: Identity;
  readonly verb: string;
  readonly resource: "nodes";
  readonly name: string;
  readonly subresource: string;
  readonly path: string;
}

/** Authorizes requests. Throws when the decision failed. */
export interface Authorizer {
  authorize(attributes: Attributes, signal: AbortSignal): Promise<"allow" | "deny">;
}

/** `authorization.mode: AlwaysAllow`. */
export const alwaysAllow: Authorizer = { authorize: async () => "allow" };

/** Those who may do anything anywhere; the API server is not asked about them. */
const MASTERS = "system:masters";

/** Allows `system:masters` and leaves all others to `delegate`; without one, rejects them. */
export function mastersThen(delegate: Authorizer | undefined): Authorizer {
  return {
    authorize: async (attributes, signal) => {
      if (attributes.identity.groups.includes(MASTERS)) return "allow";
      return (await delegate?.authorize(attributes, signal)) ?? "deny";
    },
  };
}

/** Attributes of a request to authorize. */
interface AccessQuestion {
  readonly identity: Identity;
  readonly access: RouteAccess;
  readonly method: string;
  readonly path: string;
  readonly nodeName: string;
}

/** The decision, with status and text of a rejection. */
type AccessAnswer =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly status: 403 | 500; readonly text: string };

/** Asks for each subresource in turn; the first yes is enough (server.go InstallAuthFilter). */
export async function decideAccess(
  question: AccessQuestion,
  authorizer: Authorizer,
  signal: AbortSignal,
): Promise<AccessAnswer> {
  const { identity, access, method, path, nodeName } = question;
  const verb = access.verb ?? verbOf(method);
  let failure: string | undefined;
  for (const subresource of access.subresources) {
    try {
      const attributes = {
        identity,
        verb,
        resource: "nodes",
        name: nodeName,
        subresource,
        path,
      } as const;
      if ((await authorizer.authorize(attributes, signal)) === "allow") return { kind: "allowed" };
    } catch (error) {
      failure ??= messageOf(error);
    }
  }
  const of = `(user=${identity.name}, verb=${verb}, resource=nodes, subresource(s)=[${access.subresources.join(" ")}])\n`;
  return failure === undefined
    ? { kind: "refused", status: 403, text: `Forbidden ${of}` }
    : { kind: "refused", status: 500, text: `Authorization error ${of}` };
}
