// Device plugins as programs: one of our own, and one in Go on grpc-go as the plugins in the field are.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import { withLockSync } from "../../tools/setup/lock.mjs";

/** Which plugin. */
export type PluginLanguage = "node" | "go";

const SUITE = "bookworm";
const COMPILER = ["golang-1.19-go", "golang-1.19-src"];
/** Debian's grpc-go (1.33) with what it stands on. */
const LIBRARIES = [
  "golang-google-grpc-dev",
  "golang-google-genproto-dev",
  "golang-github-golang-protobuf-1-5-dev",
  "golang-google-protobuf-dev",
  "golang-golang-x-net-dev",
  "golang-golang-x-sys-dev",
  "golang-golang-x-text-dev",
];
const SOURCE = join(import.meta.dirname, "go-plugin/main.go");

/** What to run; folder, resource, number of devices and log follow. Throws when Go cannot be had. */
export function pluginProgram(language: PluginLanguage): readonly string[] {
  if (language === "node") return [process.execPath, join(import.meta.dirname, "plugin-main.ts")];
  const program = goPluginPath();
  const other = "another build of the Go device plugin";
  if (!existsSync(program))
    withLockSync(`${program}.lock`, () => existsSync(program) || build(program), { other });
  return [program];
}

/** Whether the plugin in Go was built before. */
export function hasGoPlugin(): boolean {
  return existsSync(goPluginPath());
}

/** Kept by the text it is made of. */
function goPluginPath(): string {
  const digest = createHash("sha256").update(readFileSync(SOURCE)).digest("hex").slice(0, 16);
  return join(CACHE_DIR, "device-plugins", digest);
}

/** Built in the cache, nothing installed; links of one package lead into another. What the account has set for Go does not reach the compiler. */
function build(program: string): void {
  const work = `${program}.building`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const folder of fetchPackages(SUITE, [...COMPILER, ...LIBRARIES]))
    execFileSync("cp", ["-al", join(folder, "usr"), work]);
  const root = join(work, "usr/lib/go-1.19");
  execFileSync(join(root, "bin/go"), ["build", "-o", join(work, "plugin"), SOURCE], {
    env: {
      PATH: process.env["PATH"],
      HOME: work,
      LANG: "C.UTF-8",
      GOROOT: root,
      GOPATH: join(work, "usr/share/gocode"),
      GO111MODULE: "off",
      GOENV: "off",
      GOFLAGS: "",
      GOPROXY: "off",
      GOCACHE: join(work, "cache"),
      CGO_ENABLED: "0",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  renameSync(join(work, "plugin"), program);
  rmSync(work, { recursive: true, force: true });
}
