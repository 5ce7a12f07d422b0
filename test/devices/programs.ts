// Device plugins as programs: one of our own, and one in Go on grpc-go as the plugins in the field are.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";

/** Which plugin. */
export type PluginLanguage = "node" | "go";

const SUITE = "bookworm";
const COMPILER = ["golang-1.19-go", "golang-1.19-src"];
/** Debian's grpc-go (1.33) with what it stands on. */
const LIBRARIES = [
  "golang-google-grpc-dev",
  "golang-google-genproto-dev",
  "golang-goprotobuf-dev",
  "golang-google-protobuf-dev",
  "golang-golang-x-net-dev",
  "golang-golang-x-sys-dev",
  "golang-golang-x-text-dev",
];
const SOURCE = join(import.meta.dirname, "go-plugin/main.go");

/** What to run; folder, resource, number of devices and log follow. Throws when Go cannot be had. */
export function pluginProgram(language: PluginLanguage): readonly string[] {
  if (language === "node") return [process.execPath, join(import.meta.dirname, "plugin-main.ts")];
  const digest = createHash("sha256").update(readFileSync(SOURCE)).digest("hex").slice(0, 16);
  const program = join(CACHE_DIR, "device-plugins", digest);
  if (!existsSync(program)) build(program);
  return [program];
}

/** Built in the cache, nothing installed; kept by the text it was made of. */
function build(program: string): void {
  const work = `${program}.building`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const folder of fetchPackages(SUITE, [...COMPILER, ...LIBRARIES]))
    cpSync(join(folder, "usr"), join(work, "usr"), { recursive: true });
  const root = join(work, "usr/lib/go-1.19");
  execFileSync(join(root, "bin/go"), ["build", "-o", join(work, "plugin"), SOURCE], {
    env: {
      ...process.env,
      GOROOT: root,
      GOPATH: join(work, "usr/share/gocode"),
      GO111MODULE: "off",
      GOFLAGS: "",
      GOCACHE: join(work, "cache"),
      CGO_ENABLED: "0",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  renameSync(join(work, "plugin"), program);
  rmSync(work, { recursive: true, force: true });
}
