/** Generated mutants that no test can notice, because they change nothing that can be seen, each with the reason. */

const ONLY_INVALID =
  "reading a certificate throws nothing else: the other branch only passes mistakes of ours on";
const PATHFLAG = "with O_PATH the kernel ignores how a file is to be read or written";
const FDINFO = "the kernel writes one line of that name, and nothing else in it";
const SELF = "an empty name and `.` lead to the folder itself";
const RACE =
  "it shows only where a name changes between two system calls, which no test brings about every time";
const ROOT = "two checks, each of which ends a walk that leaves its root by `..`";
const LATER = "the next system call on the name fails with the same error";
const PRESENT = "the default is for the compiler: the value is always there";
const IN_ORDER = "fields are read in their order: after one that is missing there is none";
const TWICE = "parseTimestamp refuses what is left";
const MASTERS = "only administrators may act for a user, and they may act for anybody";

const AGAIN = "what was read before is checked again, with the same result";
const READS = "reading a file throws nothing else, whatever it holds";
const ANY_VALUE = "another value wakes the loop, whichever it is";

/** By source file: `shown` of the mutant, and why it is equivalent. */
export const EQUIVALENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "src/server/access/authenticate.ts": {
    'if (isOutside(error, "invalid")) return undefined; => if (true) return undefined;':
      ONLY_INVALID,
    "throw error; => void error;": ONLY_INVALID,
  },
  "src/server/access/serving-certificate.ts": {
    "const changes = new Cell(0); => const changes = new Cell(1);": ANY_VALUE,
    "files.watchDirectory(folder, () => changes.set(changes.get() + 1), signal); => files.watchDirectory(folder, () => changes.set(changes.get() - 1), signal);":
      ANY_VALUE,
    "files.watchDirectory(folder, () => changes.set(changes.get() + 1), signal); => files.watchDirectory(folder, () => changes.set(changes.get() + 2), signal);":
      ANY_VALUE,
    "if (this.#checked.get(setting) === pem) return pem; => if (false) return pem;": AGAIN,
    "this.#checked.set(setting, pem); => ;": AGAIN,
    "const pair = certificatePem + privateKeyPem; => const pair = certificatePem - privateKeyPem;":
      AGAIN,
    "if (this.#checked.get(setting) !== pair) { => if (true) {": AGAIN,
    "this.#checked.set(setting, pair); => ;": AGAIN,
    "if (!(error instanceof UsageError)) throw error; => if (false) throw error;": READS,
    "if (!(error instanceof UsageError)) throw error; => if (!(error instanceof UsageError)) void error;":
      READS,
    "if (!isOutside(error)) throw error; => if (false) throw error;": READS,
    "if (!isOutside(error)) throw error; => if (!isOutside(error)) void error;": READS,
  },
  "src/localapi/access/impersonate.ts": {
    'if (uid !== "") check(caller, { ...about("uids", uid), group: "authentication.k8s.io" }); => if (false) check(caller, { ...about("uids", uid), group: "authentication.k8s.io" });':
      MASTERS,
    'if (uid !== "") check(caller, { ...about("uids", uid), group: "authentication.k8s.io" }); => if (true) check(caller, { ...about("uids", uid), group: "authentication.k8s.io" });':
      MASTERS,
    'if (uid !== "") check(caller, { ...about("uids", uid), group: "authentication.k8s.io" }); => if (uid === "") check(caller, { ...about("uids", uid), group: "authentication.k8s.io" });':
      MASTERS,
    'check(caller, { ...about("userextras", value), group: "authentication.k8s.io", subresource: key, }); => ;':
      MASTERS,
  },
  "src/localapi/access/credentials.ts": {
    "return `${JSON.stringify(config, null, 2)}\\n`; => return `${JSON.stringify(config, null, 3)}\\n`;":
      "the layout of a file that programs read",
    'return { name: "local_api_pki", path, holds, important: true }; => return { name: "local_api_pki", path, holds, important: false };':
      "whether the reserve of a full disk is used: nothing about access",
  },
  "src/localapi/access/tokens.ts": {
    "expirationSeconds < MIN_SECONDS => expirationSeconds <= MIN_SECONDS":
      "it chooses between two messages, where the lifetime is not the shortest one",
    "jti: uuidOf(random.hex(16)), => jti: uuidOf(random.hex(17)),": "a UUID takes what it needs",
  },
  "src/localapi/control/signer.ts": {
    "if (isOutside(error)) return false; => if (true) return false;": ONLY_INVALID,
    "throw error; => void error;": ONLY_INVALID,
    "if (!isOutside(error)) throw error; => if (false) throw error;": ONLY_INVALID,
    "if (!isOutside(error)) throw error; => if (!isOutside(error)) void error;": ONLY_INVALID,
  },
  "src/outside/x509/x509.ts": {
    "serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; => serial[0] = ((serial[0] ?? 1) & 0x7f) | 0x40;":
      PRESENT,
  },
  "src/outside/x509/read-certificate.ts": {
    "const versioned = fields[0] !== undefined && contextOf(fields[0]) === 0 ? 1 : 0; => const versioned = fields[1] !== undefined && contextOf(fields[0]) === 0 ? 1 : 0;":
      "of a single field the others are missing, with a version and without",
    'if (!serial || !issuer || !validity || !subject || !publicKey) throw broken("fields are missing"); => if (!serial && !issuer || !validity || !subject || !publicKey) throw broken("fields are missing");':
      IN_ORDER,
    'if (!serial || !issuer || !validity || !subject || !publicKey) throw broken("fields are missing"); => if (!serial || !issuer && !validity || !subject || !publicKey) throw broken("fields are missing");':
      IN_ORDER,
    'if (!serial || !issuer || !validity || !subject || !publicKey) throw broken("fields are missing"); => if (!serial || !issuer || !validity && !subject || !publicKey) throw broken("fields are missing");':
      IN_ORDER,
  },
  "src/outside/x509/names.ts": {
    "return address.replace(/(\\d+)\\.(\\d+)\\.(\\d+)\\.(\\d+)$/, (_, a, b, c, d) => { => return address.replace(/(\\d+)\\.(\\d+)\\.(\\d+)\\.(\\d+)/, (_, a, b, c, d) => {":
      "an IPv6 address has dots at its end only",
    "(((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16), => (((bytes[2 * i] ?? 1) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),":
      PRESENT,
    "(((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16), => (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 1)).toString(16),":
      PRESENT,
    "let best = { from: 0, length: 1 }; => let best = { from: 1, length: 1 };":
      "where a run begins that is not shortened does not matter",
    "for (let from = 0; from < groups.length; from += 1) { => for (let from = 0; from <= groups.length; from += 1) {":
      "behind the last group a run has no length",
  },
  "src/outside/x509/der.ts": {
    "while (all.length > 1 && all[0] === 0) all.shift(); => while (all.length >= 1 && all[0] === 0) all.shift();":
      "a zero that was taken away comes back in the next line",
    "if ((all[0] ?? 0) >= 0x80) all.unshift(0); => if ((all[0] ?? 1) >= 0x80) all.unshift(0);":
      PRESENT,
    'const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number); => const [first = 0, second = 1, ...rest] = dotted.split(".").map(Number);':
      PRESENT,
    'const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number); => const [first = 1, second = 0, ...rest] = dotted.split(".").map(Number);':
      PRESENT,
    "const tag = bytes[at] ?? 0; => const tag = bytes[at] ?? 1;": PRESENT,
    'if (value > Number.MAX_SAFE_INTEGER / 128) throw broken("an object identifier too large"); => if (value >= Number.MAX_SAFE_INTEGER / 128) throw broken("an object identifier too large");':
      "the limit is no whole number",
    'if (tag !== TAG.oid || (content.at(-1) ?? 0x80) >= 0x80) throw broken("no object identifier"); => if (tag !== TAG.oid || (content.at(-1) ?? 129) >= 0x80) throw broken("no object identifier");':
      "both stand for an arc that does not end",
    "const [head = 0, ...rest] = arcs; => const [head = 1, ...rest] = arcs;": PRESENT,
    'if (!match || year.length !== expected) throw broken("no time"); => if (false) throw broken("no time");':
      TWICE,
    'if (!match || year.length !== expected) throw broken("no time"); => if (!match && year.length !== expected) throw broken("no time");':
      TWICE,
    'if (!match || year.length !== expected) throw broken("no time"); => if (!match || year.length !== expected) void broken("no time");':
      TWICE,
  },
  "src/outside/x509/pem.ts": {
    "if (until < 0) break; => if (until <= 0) break;":
      "an end stands behind its beginning, never at 0",
    "if (until < 0) break; => if (until < 1) break;":
      "an end stands behind its beginning, never at 0",
    "at = until + end.length; => at = until - end.length;":
      "no beginning fits between there and the end: it is longer",
  },
  "src/outside/host/beneath.ts": {
    "export const O_PATH = 0o10000000; => export const O_PATH = 2097153;": PATHFLAG,
    "return Number(/^mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN); => return Number(/mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN);":
      FDINFO,
    "return Number(/^mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN); => return Number(/^mnt_id:\\s*(\\d+)/m.exec(text)?.[1] ?? Number.NaN);":
      FDINFO,
    'const parts = relativePath.split("/").filter((part) => part !== "" && part !== "."); => const parts = relativePath.split("/").filter((part) => part !== "" || part !== ".");':
      SELF,
  },
  "src/outside/host/resolve-beneath.ts": {
    "const O_PATH = 0o10000000; => const O_PATH = 2097153;": PATHFLAG,
    "if (here === undefined) throw leaves(walk.shown); => if (false) throw leaves(walk.shown);":
      ROOT,
    "if (here === undefined) throw leaves(walk.shown); => if (here === undefined) void leaves(walk.shown);":
      ROOT,
    "if (walk.folders.length === 1) throw leaves(walk.shown); => if (false) throw leaves(walk.shown);":
      ROOT,
    "if (walk.folders.length === 1) throw leaves(walk.shown); => if (walk.folders.length === 1) void leaves(walk.shown);":
      ROOT,
    'if (["EINVAL", "ENOENT"].includes(errnoOf(thrown))) return undefined; => if (true) return undefined;':
      LATER,
    "throw thrown; => void thrown;": LATER,
    'if (errnoOf(thrown) !== "EEXIST") throw thrown; => if (true) throw thrown;': RACE,
    "if ((await made.stat()).isDirectory()) await chmod(`/proc/self/fd/${made.fd}`, createMode); => if (true) await chmod(`/proc/self/fd/${made.fd}`, createMode);":
      RACE,
    "await made.close(); => ;": RACE,
  },
  "src/outside/tokens/tokens.ts": {
    "if (token.length > MAX_TOKEN_LENGTH || parts.length !== 3 || !head || !body || !signature) return; => if (token.length > MAX_TOKEN_LENGTH || parts.length !== 3 || !head && !body || !signature) return;":
      "an empty head names no algorithm",
    "if (token.length > MAX_TOKEN_LENGTH || parts.length !== 3 || !head || !body || !signature) return; => if (token.length > MAX_TOKEN_LENGTH || parts.length !== 3 || !head || !body && !signature) return;":
      "empty claims are no object",
  },
  "src/outside/net/serve/client-certificates.ts": {
    'if (!(socket instanceof TLSSocket) || this.#authorities === undefined) return { kind: "none" }; => if (!(socket instanceof TLSSocket) && this.#authorities === undefined) return { kind: "none" };':
      "without authorities no certificate is asked for, and with them every socket is one of TLS",
    'if (!(socket instanceof TLSSocket) || this.#authorities === undefined) return { kind: "none" }; => if (false) return { kind: "none" };':
      "without authorities no certificate is asked for, and with them every socket is one of TLS",
    'if (now > notAfter) return { kind: "unverified", why: "the certificate has expired" }; => if (now >= notAfter) return { kind: "unverified", why: "the certificate has expired" };':
      "one millisecond of the machine's clock",
    "if (presented.authorities !== this.#authorities) { => if (true) {":
      "judging again gives the same verdict, later",
    "return { der, notAfter: 0 as WallMs, doubt: messageOf(error), authorities }; => return { der, notAfter: 1 as WallMs, doubt: messageOf(error), authorities };":
      "a certificate in doubt is refused before its end is checked",
  },
};
