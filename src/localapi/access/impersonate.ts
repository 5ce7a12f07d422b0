// pure
/** Requests in the name of another user (`kubectl --as`). Source: apiserver endpoints/filters/impersonation.go. */
import type { User } from "../objects/object-request.ts";
import { badRequest, forbiddenRequest } from "../status-error.ts";
import { type Access, authorize } from "./authorize.ts";

const PREFIX = "impersonate-";
const EXTRA = "impersonate-extra-";
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const ANONYMOUS = "system:anonymous";

/**
 * The user in whose name the request is made: the caller, or whom its `Impersonate-*` headers name.
 * Throws `StatusError` Forbidden when the caller may not, BadRequest when the headers name no user.
 */
export function actingUser(
  caller: User,
  headers: Readonly<Record<string, string | undefined>>,
): User {
  const named = Object.entries(headers).filter(([name]) => name.startsWith(PREFIX));
  if (named.length === 0) return caller;
  const name = headers["impersonate-user"] ?? "";
  if (name === "")
    throw badRequest("Impersonate-User is missing: groups, UID and extra fields need it");
  const uid = headers["impersonate-uid"] ?? "";
  const groups = listOf(headers["impersonate-group"]);
  const extra = Object.fromEntries(
    named
      .filter(([header]) => header.startsWith(EXTRA))
      .map(([header, value]) => [keyOf(header), listOf(value)]),
  );
  const account = ACCOUNT.exec(name);
  const [, namespace = "", accountName = ""] = account ?? [];
  check(caller, account ? about("serviceaccounts", accountName, namespace) : about("users", name));
  for (const group of groups) check(caller, about("groups", group));
  if (uid !== "") check(caller, { ...about("uids", uid), group: "authentication.k8s.io" });
  for (const [key, values] of Object.entries(extra))
    for (const value of values)
      check(caller, {
        ...about("userextras", value),
        group: "authentication.k8s.io",
        subresource: key,
      });
  return {
    name,
    ...(uid === "" ? {} : { uid }),
    groups: withImplied(groups, name, account ? namespace : undefined),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

type Resource = NonNullable<Access["resource"]>;

function about(plural: string, name: string, namespace = ""): Resource {
  return { group: "", plural, subresource: "", namespace, name };
}

function check(caller: User, resource: Resource): void {
  const verdict = authorize(caller, { verb: "impersonate", resource });
  if (verdict.kind === "denied") throw forbiddenRequest(resource, resource.name, verdict.why);
}

/** Groups of which everybody is, and those of accounts where no other is named. */
function withImplied(
  groups: readonly string[],
  name: string,
  namespace: string | undefined,
): readonly string[] {
  const own =
    groups.length === 0 && namespace !== undefined
      ? ["system:serviceaccounts", `system:serviceaccounts:${namespace}`]
      : groups;
  const everybody = name === ANONYMOUS ? "system:unauthenticated" : "system:authenticated";
  return own.some((group) => group === "system:unauthenticated" || group === everybody)
    ? own
    : [...own, everybody];
}

/** The values of a header that may come several times. */
const listOf = (value: string | undefined): readonly string[] =>
  (value ?? "").split(", ").filter((each) => each !== "");

/** Keys may be escaped, for a header's name takes few characters. */
function keyOf(header: string): string {
  const escaped = header.slice(EXTRA.length);
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}
