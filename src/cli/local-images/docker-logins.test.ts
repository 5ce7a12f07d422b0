import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { dockerLogins } from "./docker-logins.ts";

const LOGIN = { username: "robot", password: "s3cret" };
const AUTHS = { "r.test": { auth: btoa("file:word") } };
const FILE_LOGIN = { username: "file", password: "word" };
/** A helper that keeps what it was asked, and replies. */
const replying = (reply: object) =>
  `#!/bin/sh\nread server\necho "$1 $server" >>"$ASKED"\necho '${JSON.stringify(reply)}'\n`;
const STORE = replying({ ServerURL: "r.test", Username: LOGIN.username, Secret: LOGIN.password });
const NONE = "#!/bin/sh\necho 'credentials not found in native keychain'\nexit 1\n";

interface Case {
  readonly config: object | string;
  readonly image?: string;
  readonly helpers?: Readonly<Record<string, string>>;
}

/** The logins, what the helper was asked, and the warnings. */
async function loginsFor({ config, image = "r.test/app:1", helpers = {} }: Case) {
  return await withTemporaryFolder(async (folder) => {
    const asked = join(folder, "asked");
    const warnings: string[] = [];
    writeFileSync(asked, "");
    writeFileSync(
      join(folder, "config.json"),
      typeof config === "string" ? config : JSON.stringify(config),
    );
    mkdirSync(join(folder, "bin"));
    for (const [name, script] of Object.entries(helpers)) {
      const path = join(folder, "bin", `docker-credential-${name}`);
      writeFileSync(path, script);
      chmodSync(path, 0o755);
    }
    const before = process.env["PATH"];
    process.env["PATH"] = `${join(folder, "bin")}:${before}`;
    try {
      const env = { DOCKER_CONFIG: folder, ASKED: asked, PATH: process.env["PATH"] };
      const { signal } = new AbortController();
      const logins = await dockerLogins(image, { env, signal, warn: (t) => warnings.push(t) });
      const bare = logins.map(({ ...login }) => login);
      return { logins: bare, asked: readFileSync(asked, "utf8"), warnings };
    } finally {
      process.env["PATH"] = before;
    }
  });
}

const FOUND: readonly (readonly [string, Case, unknown, string])[] = [
  ["the file alone", { config: { auths: AUTHS } }, [FILE_LOGIN], ""],
  [
    "credsStore before the file",
    { config: { auths: AUTHS, credsStore: "store" }, helpers: { store: STORE } },
    [LOGIN, FILE_LOGIN],
    "get r.test\n",
  ],
  [
    "credHelpers before credsStore",
    {
      config: { credsStore: "none", credHelpers: { "r.test": "store" } },
      helpers: { store: STORE, none: NONE },
    },
    [LOGIN],
    "get r.test\n",
  ],
  [
    "Docker Hub by the name that docker uses",
    { config: { credsStore: "store" }, helpers: { store: STORE }, image: "docker.io/library/a:1" },
    [LOGIN],
    "get https://index.docker.io/v1/\n",
  ],
  [
    "the token of a login",
    {
      config: { credsStore: "store" },
      helpers: { store: replying({ Username: "<token>", Secret: "t" }) },
    },
    [{ identityToken: "t" }],
    "get r.test\n",
  ],
  [
    "a helper without a login",
    { config: { auths: AUTHS, credsStore: "none" }, helpers: { none: NONE } },
    [FILE_LOGIN],
    "",
  ],
];

for (const [what, given, logins, asked] of FOUND)
  test(`dockerLogins: ${what}`, async () => {
    assert.deepEqual(await loginsFor(given), { logins, asked, warnings: [] });
  });

test("dockerLogins goes on without credentials when the missing store has none for the registry", async () => {
  const { logins, warnings } = await loginsFor({ config: { credsStore: "desktop", auths: {} } });
  assert.deepEqual(logins, []);
  assert.match(
    warnings.join("\n"),
    /^docker-credential-desktop \(credsStore in .*config\.json\) is not installed; pulling from r\.test without/,
  );
});

const REFUSED: readonly (readonly [string, Case, RegExp])[] = [
  [
    "a missing helper of a registry with a login",
    { config: { credsStore: "desktop", auths: { "r.test": {} } } },
    /^CliError: failed to get credentials for r\.test: docker-credential-desktop \(credsStore in .*config\.json\) is not installed$/,
  ],
  [
    "a helper that fails",
    {
      config: { credsStore: "broken" },
      helpers: { broken: "#!/bin/sh\necho 'gpg: decryption failed' >&2\nexit 2\n" },
    },
    /from docker-credential-broken \(credsStore in .*\): gpg: decryption failed$/,
  ],
  [
    "a helper that cannot be started",
    { config: { credsStore: "odd" }, helpers: { odd: "#!/no/such/interpreter\n" } },
    /from docker-credential-odd .*: it cannot be run \(ENOENT\)$/,
  ],
  [
    "a reply that is none",
    { config: { credsStore: "odd" }, helpers: { odd: "#!/bin/sh\necho s3cret\n" } },
    /docker-credential-odd \(credsStore in [^)]*\): its reply is not valid$/,
  ],
  [
    "a reply that is too long",
    { config: { credsStore: "odd" }, helpers: { odd: "#!/bin/sh\nyes | head -c 1000000\n" } },
    /docker-credential-odd \(credsStore in [^)]*\): its reply is too long$/,
  ],
  [
    "a name that leads elsewhere",
    { config: { credsStore: "x/../../evil" } },
    /credsStore in .* is not the name of a credential helper: x\/\.\.\/\.\.\/evil$/,
  ],
  ["a file that is not JSON", { config: "{" }, /cannot use .*config\.json: .*not JSON/],
];

for (const [what, given, expected] of REFUSED)
  test(`dockerLogins refuses ${what}`, async () => {
    await assert.rejects(loginsFor(given), expected);
  });
