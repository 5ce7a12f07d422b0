/** Mutants that were chosen by hand: each takes one guard away. Tests run all of them (`mutants.test.ts`). */

/** One guard, and what is left without it. */
export interface ChosenMutant {
  /** What would get through. */
  readonly without: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly guard: string;
  readonly instead: string;
  /** Where it differs from those of `targets.ts`: the test files that must notice. */
  readonly tests?: readonly string[];
}

const LOCAL_ACCESS = "src/localapi/access";
const SERVER_ACCESS = "src/server/access";
const SERVE = "src/outside/net/serve";
const SECURITY_CONTEXT = "src/subsystems/runtime/security/security-context.ts";
const SECURITY_CONTEXT_TESTS = ["src/subsystems/runtime/security/security-context.test.ts"];
const PEERS = ["test/server/peer-limits.test.ts"];

/** The guards. */
export const CHOSEN_MUTANTS: readonly ChosenMutant[] = [
  {
    without: "the signature of a token",
    file: "src/outside/tokens/tokens.ts",
    guard: "return isOurs ? objectOf(body) : undefined;",
    instead: "return isOurs || true ? objectOf(body) : undefined;",
  },
  {
    without: "the algorithm of a token",
    file: "src/outside/tokens/tokens.ts",
    guard: 'if (objectOf(head)?.["alg"] !== "ES256") return;',
    instead: "",
  },
  {
    without: "the length of a token",
    file: "src/outside/tokens/tokens.ts",
    guard: "token.length > MAX_TOKEN_LENGTH || ",
    instead: "",
  },
  {
    without: "the issuer of a token",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: '|| claims["iss"] !== ISSUER',
    instead: "",
  },
  {
    without: "the end of a token",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: " || exp + LEEWAY_SECONDS < now",
    instead: "",
  },
  {
    without: "the beginning of a token",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: 'if (typeof nbf === "number" && nbf - LEEWAY_SECONDS > now) return undefined;',
    instead: "",
  },
  {
    without: "the audience of a token",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: "if (matching.length === 0) return undefined;",
    instead: "",
  },
  {
    without: "the account of a token",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: '!kept || kept.metadata.uid !== account["uid"]',
    instead: "!kept",
  },
  {
    without: "the object that a token is bound to",
    file: `${LOCAL_ACCESS}/tokens.ts`,
    guard: " || !areBoundThere(store, namespace, own)",
    instead: "",
  },
  {
    without: "the purpose of a client certificate",
    file: `${LOCAL_ACCESS}/authenticate.ts`,
    guard: ' || !usages.includes("clientAuth")',
    instead: "",
  },
  {
    without: "rights",
    file: `${LOCAL_ACCESS}/authorize.ts`,
    guard: 'return { kind: "denied", why: refusal(user, access) };',
    instead: "return ALLOWED;",
  },
  {
    without: "the node's own name",
    file: `${LOCAL_ACCESS}/authorize.ts`,
    guard: 'const own = name === "" || name === user.name.slice(NODE_PREFIX.length);',
    instead: "const own = true;",
  },
  {
    without: "the right to act for others",
    file: `${LOCAL_ACCESS}/impersonate.ts`,
    guard: 'if (verdict.kind === "denied") throw',
    instead: "if (false) throw",
  },
  {
    without: "what a node may do to another node's pods",
    file: `${LOCAL_ACCESS}/restrict-node.ts`,
    guard: "if (spec?.nodeName !== node)",
    instead: "if (false)",
  },
  {
    without: "mirror pods being the only ones that a node makes",
    file: `${LOCAL_ACCESS}/restrict-node.ts`,
    guard: "isNew && metadata?.annotations?.[MIRROR] === undefined",
    instead: "false",
  },
  {
    without: "the subject of a request that is signed without approval",
    file: "src/localapi/control/signer.ts",
    guard: "return signatureIsValid && isNode && asks && (serving || !named);",
    instead: "return signatureIsValid && asks;",
  },
  {
    without: "who asks for a certificate that is signed without approval",
    file: "src/localapi/control/signer.ts",
    guard: "signatureIsValid && isNode && asks &&",
    instead: "signatureIsValid && isNode &&",
  },
  {
    without: "approval",
    file: "src/localapi/control/signer.ts",
    guard: "isApproved(request) || isOfNode(request)",
    instead: "true",
  },
  {
    without: "the mode of the local API's keys",
    file: `${LOCAL_ACCESS}/credentials.ts`,
    guard: "const FILE_MODE = 0o600;",
    instead: "const FILE_MODE = 0o644;",
  },
  {
    without: "the mode of the local API's folder",
    file: `${LOCAL_ACCESS}/credentials.ts`,
    guard: "const FOLDER_MODE = 0o700;",
    instead: "const FOLDER_MODE = 0o755;",
  },
  {
    without: "the mode of the serving key",
    file: `${SERVER_ACCESS}/serving-certificate.ts`,
    guard: "const PRIVATE_MODE = 0o600;",
    instead: "const PRIVATE_MODE = 0o644;",
  },
  {
    without: "refusal of a certificate that was not verified",
    file: `${SERVER_ACCESS}/authenticate.ts`,
    guard: 'if (client.kind === "unverified") return { kind: "refused", why: client.why };',
    instead: 'if (client.kind === "unverified") return { kind: "nothing" };',
  },
  {
    without: "anonymous callers being refused",
    file: `${SERVER_ACCESS}/authenticate.ts`,
    guard: "return anonymous ?",
    instead: "return true ?",
  },
  {
    without: "what the API server says of a token",
    file: `${SERVER_ACCESS}/delegated.ts`,
    guard: "status?.authenticated !== true || ",
    instead: "",
  },
  {
    without: "what the API server allows",
    file: `${SERVER_ACCESS}/delegated.ts`,
    guard: 'status?.allowed === true ? "allow" : "deny"',
    instead: '"allow"',
  },
  {
    without: "the time for which an answer is kept",
    file: `${SERVER_ACCESS}/delegated.ts`,
    guard: "known && now < known.until",
    instead: "known",
  },
  {
    without: "denial where nobody can be asked",
    file: `${SERVER_ACCESS}/authorize.ts`,
    guard: '?? "deny"',
    instead: '?? "allow"',
  },
  {
    without: "an error that keeps callers out",
    file: `${SERVER_ACCESS}/authorize.ts`,
    guard: "failure ??= messageOf(error);",
    instead: 'return { kind: "allowed" };',
  },
  {
    without: "the handshake's verdict on a client certificate",
    file: `${SERVE}/client-certificates.ts`,
    guard: 'if (doubt !== undefined) return { kind: "unverified", why: doubt };',
    instead: "",
  },
  {
    without: "the end of a client certificate on an open connection",
    file: `${SERVE}/client-certificates.ts`,
    guard: "if (now > notAfter)",
    instead: "if (false)",
    tests: PEERS,
  },
  {
    without: "new authorities on an open connection",
    file: `${SERVE}/client-certificates.ts`,
    guard: "if (presented.authorities !== this.#authorities)",
    instead: "if (false)",
  },
  {
    without: "the order of cipher suites",
    file: `${SERVE}/tls-options.ts`,
    guard: 'preferredOrder(suites.filter((name) => name.includes("_WITH_")))',
    instead: 'suites.filter((name) => name.includes("_WITH_"))',
  },
  {
    without: "the refusal to resume sessions",
    file: `${SERVE}/tls-options.ts`,
    guard: "secureOptions: constants.SSL_OP_NO_TICKET,",
    instead: "",
  },
  {
    without: "the signature of a request for a certificate",
    file: "src/outside/x509/x509.ts",
    guard: "signatureIsValid: verify(algorithmOf(key).digest, signedPart, key, signature),",
    instead: "signatureIsValid: true,",
  },
  {
    without: "the signature of a certificate",
    file: "src/outside/x509/x509.ts",
    guard: "leaf.verify(authority.publicKey)",
    instead: "true",
  },
  {
    without: "links being refused on the way",
    file: "src/outside/host/beneath.ts",
    guard: "constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;",
    instead: "constants.O_RDONLY | constants.O_DIRECTORY;",
  },
  {
    without: "`..` being refused",
    file: "src/outside/host/beneath.ts",
    guard: ' || parts.includes("..")',
    instead: "",
  },
  {
    without: "file names being plain ones",
    file: "src/outside/host/files/change-beneath.ts",
    guard: "nameIn(folder, plainName(name, shown))",
    instead: "nameIn(folder, name)",
    tests: ["test/contracts/host-contract.test.ts"],
  },
  {
    without: "root being kept out by runAsNonRoot (CVE-2019-11245)",
    file: SECURITY_CONTEXT,
    guard: 'if (user.uid === 0n || (user.uid === undefined && user.username === "")) {',
    instead: "if (false) {",
    tests: SECURITY_CONTEXT_TESTS,
  },
  {
    without: "a seccomp profile without a name (CVE-2023-2431)",
    file: SECURITY_CONTEXT,
    guard: 'if (type === "Localhost" && !profile?.localhostProfile) {',
    instead: "if (false) {",
    tests: SECURITY_CONTEXT_TESTS,
  },
  {
    without: "the node's addresses being its own (CVE-2022-3294)",
    file: "src/config/flags/validate-flags.ts",
    guard: "if (why !== undefined || found.includes(address)) return why;",
    instead: "return why;",
    tests: ["src/config/derive.test.ts"],
  },
  {
    without: "objects that containers of a static pod refer to (CVE-2025-4563)",
    file: "src/api/validation/static-pod-references.ts",
    guard: "...allContainers(pod).flatMap(containerReferences),",
    instead: "",
    tests: ["src/api/validation/static-pod-references.test.ts"],
  },
  {
    without: "files that the agent keeps for containers (CVE-2020-8557)",
    file: "src/subsystems/stats/disks.ts",
    guard: "const sizes = managedFiles.flatMap((path) => this.#sizes.get(path) ?? []);",
    instead:
      "const sizes: readonly { atMs: number; usedBytes: number; inodesUsed: number }[] = [];",
    tests: ["src/subsystems/stats/disks.test.ts"],
  },
  {
    without: "the length of a command's output (CVE-2022-31030)",
    file: "src/subsystems/probes/handlers/exec.ts",
    guard: "Math.min(stdout.length + stderr.length, MAX_OUTPUT_BYTES)",
    instead: "stdout.length + stderr.length",
    tests: ["test/probes/handlers.test.ts"],
  },
  {
    without: "labels that containerd obeys (CVE-2026-53488)",
    file: "src/cli/up/runtime/containerd-config.ts",
    guard: ", ...UNSAFE_PLUGINS",
    instead: "",
    tests: ["src/cli/up/up-files.test.ts"],
  },
  {
    without: "names of CSI drivers being those of folders",
    file: "src/subsystems/csi/drivers/registered-drivers.ts",
    guard: "if (!isFileName(name))",
    instead: "if (false)",
    tests: ["src/subsystems/csi/registration.test.ts"],
  },
  {
    without: "names of volumes being those of folders",
    file: "src/subsystems/csi/csi-paths.ts",
    guard: "if (!isFileName(escaped))",
    instead: "if (false)",
    tests: ["src/subsystems/csi/registration.test.ts"],
  },
  {
    without: "slashes in names of volumes, which lead to other folders",
    file: "src/subsystems/csi/csi-paths.ts",
    guard: 'name.replaceAll("/", "~")',
    instead: "name",
    tests: ["src/subsystems/csi/registration.test.ts"],
  },
  {
    without: "names of file servers that are options of mount(8)",
    file: "src/subsystems/volumes/kinds/nfs.ts",
    guard: ' || server.startsWith("-")',
    instead: "",
    tests: ["src/subsystems/volumes/nfs.test.ts"],
  },
];
