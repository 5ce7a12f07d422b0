/** Generated mutants that no test can notice, because they change nothing that can be seen, each with the reason. */

const ONLY_INVALID =
  "reading a certificate throws nothing else: the other branch only passes mistakes of ours on";
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
};
