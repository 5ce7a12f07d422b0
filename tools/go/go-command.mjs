// The machine's Go: where it is, which version, and what it says when it cannot reach its module registry.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Where Go is when it is not on the PATH. */
const USUAL = ["/usr/local/go/bin", "/usr/lib/go/bin"];

/** Something that this machine does not have: what needs it is left out, with these words. */
export class Unavailable extends Error {}

/** Path of the `go` command; undefined where there is none. */
export function goCommand(environment = process.env) {
  return [...(environment.PATH ?? "").split(delimiter), ...USUAL]
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "go"))
    .find((path) => existsSync(path));
}

/** Why nothing can be built here, in words for a skipped test; undefined when something can. */
export function goObstacle(environment = process.env) {
  return goCommand(environment) === undefined ? "there is no Go on this machine" : undefined;
}

/** Like `go1.26.8`. Read from the file that stands beside the command, since it is asked for often. */
export function goVersion(command) {
  const file = join(dirname(realpathSync(command)), "..", "VERSION");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [version] = /^go\d\S*/.exec(text) ?? [];
  if (version !== undefined) return version;
  const env = { ...process.env, GOTOOLCHAIN: "local" };
  return execFileSync(command, ["env", "GOVERSION"], { env, cwd: "/", encoding: "utf8" }).trim();
}

/** In what Go reports of modules that it could not get, because of the network or of its settings. */
const OUT_OF_REACH =
  /dial tcp|no such host|i\/o timeout|connection (?:refused|reset)|network is unreachable|TLS handshake|x509: |module lookup disabled|GOPROXY|reading https?:|Get "https?:/;
const TOO_OLD = /requires go >= (\S+) \(running go (\S+?)[;)]/;

/** The obstacle behind the output of a `go` command that failed; undefined when that is a defect. */
export function obstacleIn(output) {
  const [, needed, running] = TOO_OLD.exec(output) ?? [];
  if (needed !== undefined) return `Go ${needed} or newer is needed, this machine has ${running}`;
  const line = output.split("\n").find((each) => OUT_OF_REACH.test(each));
  return line === undefined ? undefined : `Go's module registry gives nothing: ${line.trim()}`;
}
