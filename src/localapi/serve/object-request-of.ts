// pure
import { unsupported } from "../../api/decode/field-problem.ts";
import type { Kind } from "../kind.ts";
import type { FieldValidation, ObjectRequest, User } from "../objects/object-request.ts";
import { invalidObject } from "../status-error.ts";
import type { ResourcePath } from "./request.ts";

interface ObjectRequestParts {
  readonly kind: Kind;
  readonly at: ResourcePath;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly userAgent: string;
}

const VALIDATIONS: readonly FieldValidation[] = ["Ignore", "Warn", "Strict"];
const MAX_MANAGER_LENGTH = 128;

/** Builds the request for objects from path, query and user. Throws `StatusError` Invalid for options that cannot be used. */
export function objectRequestOf({
  kind,
  at,
  query,
  user,
  userAgent,
}: ObjectRequestParts): ObjectRequest {
  const { namespace, name, subresource } = at;
  const manager = query.get("fieldManager") || (userAgent.split("/")[0] ?? "") || "unknown";
  return {
    kind,
    namespace,
    name,
    subresource,
    user,
    manager: manager.slice(0, MAX_MANAGER_LENGTH),
    dryRun: isDryRun(query.getAll("dryRun")),
    fieldValidation: validationOf(query.get("fieldValidation") ?? ""),
    warnings: [],
  };
}

/** Whether nothing is to be kept. Throws `StatusError` Invalid. */
export function isDryRun(values: readonly string[]): boolean {
  const wrong = values.find((value) => value !== "All" && value !== "");
  if (wrong !== undefined) throw invalidOption("dryRun", wrong, ["All"]);
  return values.includes("All");
}

function validationOf(text: string): FieldValidation {
  if (text === "") return "Warn";
  const found = VALIDATIONS.find((each) => each === text);
  if (!found) throw invalidOption("fieldValidation", text, VALIDATIONS);
  return found;
}

function invalidOption(name: string, value: string, supported: readonly string[]) {
  return invalidObject({ group: "meta.k8s.io", kind: "Options" }, "", [
    unsupported(name, value, supported),
  ]);
}
