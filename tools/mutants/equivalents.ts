/** Generated mutants that no test can notice, because they change nothing that can be seen, each with the reason. */

const ONLY_INVALID =
  "reading a certificate throws nothing else: the other branch only passes mistakes of ours on";
const PATHFLAG = "with O_PATH the kernel ignores how a file is to be read or written";
const FDINFO = "the kernel writes one line of that name, and nothing else in it";
const SELF = "an empty name and `.` lead to the folder itself";
const MOUNTS =
  "each mount has a number of its own: what lies on another one is refused at the last name";
const RACE =
  "it shows only where a name changes between two system calls, which no test brings about every time";
const ROOT = "two checks, each of which ends a walk that leaves its root by `..`";
const LATER = "the next system call on the name fails with the same error";
const MASTERS = "only administrators may act for a user, and they may act for anybody";

/** By source file: `shown` of the mutant, and why it is equivalent. */
export const EQUIVALENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "src/server/access/authenticate.ts": {
    'if (isOutside(error, "invalid")) return undefined; => if (true) return undefined;':
      ONLY_INVALID,
    "throw error; => void error;": ONLY_INVALID,
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
  "src/outside/host/files/beneath.ts": {
    "export const O_PATH = 0o10000000; => export const O_PATH = 2097153;": PATHFLAG,
    "return Number(/^mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN); => return Number(/mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN);":
      FDINFO,
    "return Number(/^mnt_id:\\s*(\\d+)$/m.exec(text)?.[1] ?? Number.NaN); => return Number(/^mnt_id:\\s*(\\d+)/m.exec(text)?.[1] ?? Number.NaN);":
      FDINFO,
    'const parts = relativePath.split("/").filter((part) => part !== "" && part !== "."); => const parts = relativePath.split("/").filter((part) => part !== "" || part !== ".");':
      SELF,
    "checkMount(folder, mountId, shown); => ;": MOUNTS,
    "for (let attempt = 1; ; attempt += 1) { => for (let attempt = 2; ; attempt += 1) {": RACE,
    "for (let attempt = 1; ; attempt += 1) { => for (let attempt = 1; ; attempt += 2) {": RACE,
    "const exclusive = flags | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW; => const exclusive = flags | constants.O_CREAT & constants.O_EXCL | constants.O_NOFOLLOW;":
      RACE,
    "const exclusive = flags | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW; => const exclusive = flags | constants.O_CREAT | constants.O_EXCL & constants.O_NOFOLLOW;":
      RACE,
    'if (errnoOf(thrown) !== "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown; => if (true) throw thrown;':
      RACE,
    'if (errnoOf(thrown) !== "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown; => if (errnoOf(thrown) === "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown;':
      RACE,
    'if (errnoOf(thrown) !== "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown; => if (errnoOf(thrown) !== "EEXIST" && attempt >= RACE_ATTEMPTS) throw thrown;':
      RACE,
    'if (errnoOf(thrown) !== "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown; => if (errnoOf(thrown) !== "EEXIST" || attempt < RACE_ATTEMPTS) throw thrown;':
      RACE,
    'if (errnoOf(thrown) !== "EEXIST" || attempt >= RACE_ATTEMPTS) throw thrown; => if (errnoOf(thrown) !== "EEXIST" || attempt > RACE_ATTEMPTS) throw thrown;':
      RACE,
  },
  "src/outside/host/files/resolve-beneath.ts": {
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
      "a certificate in doubt is refused before its end is looked at",
  },
};
