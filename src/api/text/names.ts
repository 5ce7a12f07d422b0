// pure
import { appendAll } from "../../kit/limits/lists.ts";

/** Validation errors of a text, in Kubernetes' wording; empty when it is valid. */
export type Faults = readonly string[];

/** Length in bytes of UTF-8, which is what the API's limits count. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const pair = code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
    if (pair) i++;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : pair ? 4 : 3;
  }
  return bytes;
}

/** The longest beginning of a text that takes at most `maxBytes` in UTF-8; no character is cut in two. */
export function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** `must be between 1 and 65535, inclusive`. */
export const inclusiveRange = (low: number, high: number): string =>
  `must be between ${low} and ${high}, inclusive`;

const EMPTY = "must be non-empty";
const tooManyCharacters = (max: number): string => `must be no more than ${max} characters`;
const tooManyBytes = (max: number): string => `must be no more than ${max} bytes`;

const mismatch = (message: string, expression: string, ...examples: readonly string[]): string =>
  `${message} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${expression}')`;

// Every expression below is linear: what may repeat never overlaps with what follows it.
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_RE = new RegExp(`^${LABEL}$`);
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const SUBDOMAIN_RE = new RegExp(`^${SUBDOMAIN}$`);
const LOOSE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const LOOSE_SUBDOMAIN = `${LOOSE_LABEL}(\\.${LOOSE_LABEL})*`;
const LOOSE_SUBDOMAIN_RE = new RegExp(`^${LOOSE_SUBDOMAIN}$`);
const DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS1035_RE = new RegExp(`^${DNS1035}$`);
const KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RE = new RegExp(`^${KEY}$`);
const VALUE = `(${KEY})?`;
const CONFIG_KEY = "[-._a-zA-Z0-9]+";
const CONFIG_KEY_RE = new RegExp(`^${CONFIG_KEY}$`);
const HEADER = "[-A-Za-z0-9]+";
const HEADER_RE = new RegExp(`^${HEADER}$`);

/** Longest DNS label. */
export const LABEL_MAX = 63;
/** Longest DNS name. */
export const SUBDOMAIN_MAX = 253;
const PORT_NAME_MAX = 15;

/** Names of containers and volumes, host names: one DNS label. */
export function dns1123LabelFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > LABEL_MAX) faults.push(tooManyCharacters(LABEL_MAX));
  if (!LABEL_RE.test(text))
    faults.push(
      SUBDOMAIN_RE.test(text)
        ? "must not contain dots"
        : mismatch(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            LABEL,
            "my-name",
            "123-abc",
          ),
    );
  return faults;
}

/** Names of most objects: a DNS name. */
export function dns1123SubdomainFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > SUBDOMAIN_MAX) faults.push(tooManyCharacters(SUBDOMAIN_MAX));
  if (!SUBDOMAIN_RE.test(text))
    faults.push(
      mismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        SUBDOMAIN,
        "example.com",
      ),
    );
  return faults;
}

/** DNS search domains: like a subdomain, with `_` allowed. */
export function searchDomainFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > SUBDOMAIN_MAX) faults.push(tooManyCharacters(SUBDOMAIN_MAX));
  if (!LOOSE_SUBDOMAIN_RE.test(text))
    faults.push(
      mismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
        LOOSE_SUBDOMAIN,
        "example.com",
      ),
    );
  return faults;
}

/** Names of services: a DNS label that starts with a letter. */
export function dns1035LabelFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > LABEL_MAX) faults.push(tooManyCharacters(LABEL_MAX));
  if (!DNS1035_RE.test(text))
    faults.push(
      mismatch(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        DNS1035,
        "my-name",
        "abc-123",
      ),
    );
  return faults;
}

const KEY_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const KEY_EXAMPLES = ["MyName", "my.name", "123-abc"] as const;

/** Keys of labels and annotations, names of resources and conditions: `[prefix/]name`. */
export function qualifiedNameFaults(text: string): Faults {
  const parts = text.split("/", 3);
  if (parts.length > 2)
    return [
      `a valid label key ${mismatch(KEY_MESSAGE, KEY, ...KEY_EXAMPLES)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const faults: string[] = [];
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (prefix === "") faults.push(`prefix part ${EMPTY}`);
  else if (prefix !== undefined)
    appendAll(
      faults,
      dns1123SubdomainFaults(prefix).map((fault) => `prefix part ${fault}`),
    );
  if (name === "") faults.push(`name part ${EMPTY}`);
  else if (byteLength(name) > LABEL_MAX) faults.push(`name part ${tooManyBytes(LABEL_MAX)}`);
  if (!KEY_RE.test(name)) faults.push(`name part ${mismatch(KEY_MESSAGE, KEY, ...KEY_EXAMPLES)}`);
  return faults;
}

/** Values of labels: empty, or at most 63 characters of a narrow set. */
export function labelValueFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > LABEL_MAX) faults.push(tooManyBytes(LABEL_MAX));
  if (text !== "" && !KEY_RE.test(text))
    faults.push(
      mismatch(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        VALUE,
        "MyValue",
        "my_value",
        "12345",
      ),
    );
  return faults;
}

/** Port numbers: 1 to 65535. */
export const portNumberFaults = (port: number): Faults =>
  port >= 1 && port <= 65535 ? [] : [inclusiveRange(1, 65535)];

/** Names of ports (RFC 6335, lower case). */
export function portNameFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > PORT_NAME_MAX) faults.push(tooManyCharacters(PORT_NAME_MAX));
  if (!/^[-a-z0-9]+$/.test(text))
    faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(text)) faults.push("must contain at least one letter (a-z)");
  if (text.includes("--")) faults.push("must not contain consecutive hyphens");
  if (text.startsWith("-") || text.endsWith("-"))
    faults.push("must not begin or end with a hyphen");
  return faults;
}

function directoryFaults(text: string): Faults {
  if (text === ".") return ["must not be '.'"];
  if (text === "..") return ["must not be '..'"];
  return text.startsWith("..") ? ["must not start with '..'"] : [];
}

/** Keys of config maps and secrets, which become file names. */
export function configMapKeyFaults(text: string): Faults {
  const faults: string[] = [];
  if (byteLength(text) > SUBDOMAIN_MAX) faults.push(tooManyCharacters(SUBDOMAIN_MAX));
  if (!CONFIG_KEY_RE.test(text))
    faults.push(
      mismatch(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        CONFIG_KEY,
        "key.name",
        "KEY_NAME",
        "key-name",
      ),
    );
  return [...faults, ...directoryFaults(text)];
}

/** Names of HTTP headers in probes and hooks. */
export const httpHeaderNameFaults = (text: string): Faults =>
  HEADER_RE.test(text)
    ? []
    : [
        mismatch(
          "a valid HTTP header must consist of alphanumeric characters or '-'",
          HEADER,
          "X-Header-Name",
        ),
      ];

/** Names of environment variables: printable ASCII without `=`. */
export function environmentNameFaults(text: string): Faults {
  const faults: string[] = [];
  if (text === "") faults.push(`environment variable name ${EMPTY}`);
  if (!/^[\x20-\x3c\x3e-\x7e]*$/.test(text))
    faults.push(
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    );
  return faults;
}
