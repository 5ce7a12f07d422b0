// pure

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const MAX_NAME = 63;
const MAX_PREFIX = 253;

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** What is wrong with the key of a label or taint; empty when nothing is. */
export function labelKeyFaults(key: string): readonly string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    return [`a qualified name ${NAME_RULE} with an optional DNS subdomain prefix and '/'`];
  }
  const faults: string[] = [];
  const prefix = parts.length === 2 ? (parts[0] ?? "") : undefined;
  const name = parts[parts.length - 1] ?? "";
  if (prefix !== undefined) {
    if (prefix === "") faults.push("prefix part must be non-empty");
    else if (prefix.length > MAX_PREFIX || !SUBDOMAIN.test(prefix)) {
      faults.push(`prefix part ${SUBDOMAIN_RULE}`);
    }
  }
  if (name === "") faults.push("name part must be non-empty");
  else if (name.length > MAX_NAME) {
    faults.push(`name part must be no more than ${MAX_NAME} characters`);
  }
  if (!NAME.test(name)) faults.push(`name part ${NAME_RULE}`);
  return faults;
}

/** What is wrong with the value of a label or taint; empty when nothing is. */
export function labelValueFaults(value: string): readonly string[] {
  if (value === "") return [];
  const faults: string[] = [];
  if (value.length > MAX_NAME) faults.push(`must be no more than ${MAX_NAME} characters`);
  if (!NAME.test(value)) {
    faults.push(`a valid label must be an empty string or ${NAME_RULE.replace("must ", "")}`);
  }
  return faults;
}

/** Whether `name` is a DNS subdomain, as the name of a node must be. */
export function isSubdomain(name: string): boolean {
  return name.length <= MAX_PREFIX && SUBDOMAIN.test(name);
}
