// Where everything slow to get is kept: outside the checkout, once for an account of the machine.
import { accessSync, constants, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";

const NAME = "nodelet";

/**
 * The folder, made if need be: below XDG_CACHE_HOME, else below the account's home folder as the machine's
 * user database has it. HOME is not asked: continuous integration runs with an empty or a fresh one.
 */
export function cacheDir(environment = process.env, account = ownAccount()) {
  const named = environment.XDG_CACHE_HOME ?? "";
  if (isAbsolute(named)) return join(named, NAME);
  const usual = isAbsolute(account.homedir ?? "") ? join(account.homedir, ".cache", NAME) : "";
  if (usual !== "" && isWritable(usual)) return usual;
  return join(tmpdir(), `${NAME}-cache-${account.uid}`);
}

function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** An account without an entry in the user database has a number only. */
function ownAccount() {
  try {
    return userInfo();
  } catch {
    return { uid: process.getuid() };
  }
}
