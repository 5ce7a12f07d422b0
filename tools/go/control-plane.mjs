// The programs of a real control plane for tests: kube-apiserver, etcd and kubectl of today, built from their modules.
//   node tools/go/control-plane.mjs
// Builds what is missing, some 10 minutes on two cores, and prints the path of kube-apiserver. Environment variables
// name other programs: KUBE_APISERVER, ETCD, KUBECTL. Where there is no Go to build the latter two, Debian's will do.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE_DIR, fetchPackages } from "../debian-suite.mjs";
import { buildPrograms, builtProgram } from "./build-programs.mjs";
import { goObstacle } from "./go-command.mjs";

const SUITE = "bookworm";
const APISERVER = { variable: "KUBE_APISERVER", name: "kube-apiserver" };
const ETCD = { variable: "ETCD", name: "etcd", debian: "etcd-server" };
const KUBECTL = { variable: "KUBECTL", name: "kubectl", debian: "kubernetes-client" };
const ALL = [ETCD, APISERVER, KUBECTL];
const BUILD = "node tools/go/control-plane.mjs";

/** Path of kube-apiserver; undefined when it was neither named nor built. */
export function knownApiServer() {
  return known(APISERVER);
}

/** Why no control plane can be started here, in words for a skipped test; undefined when one can. */
export function apiServerObstacle() {
  if (process.platform !== "linux") return "needs Linux";
  return knownApiServer() === undefined ? `needs a kube-apiserver: ${BUILD}` : undefined;
}

/** Whether all three programs are there, so that a control plane starts without a build or a download. */
export function hasControlPlane() {
  return ALL.every((program) => known(program) !== undefined);
}

/** Why `buildControlPlane` cannot succeed here; undefined when it may. */
export function controlPlaneObstacle() {
  return knownApiServer() === undefined ? goObstacle() : undefined;
}

/** Paths of all three programs; throws when one is missing. */
export function controlPlanePrograms() {
  const [etcd, apiserver, kubectl] = ALL.map((program) => {
    const path = known(program);
    if (path === undefined) throw new Error(`there is no ${program.name} yet: ${BUILD}`);
    return path;
  });
  return { apiserver, etcd, kubectl };
}

/** Paths of all three programs, built or fetched where they are missing. */
export async function buildControlPlane({ say = () => {} } = {}) {
  const missing = ALL.filter((program) => known(program) === undefined);
  const fetched = goObstacle() === undefined ? [] : missing.filter(({ debian }) => debian);
  for (const { debian } of fetched) fetchPackages(SUITE, [debian], { say });
  const built = missing.filter((program) => !fetched.includes(program));
  if (built.length > 0)
    await buildPrograms(
      built.map(({ name }) => name),
      { say },
    );
  return controlPlanePrograms();
}

function known(program) {
  return named(program.variable) ?? builtProgram(program.name) ?? packaged(program);
}

function named(variable) {
  const path = process.env[variable];
  if (!path) return undefined;
  if (!existsSync(path)) throw new Error(`${variable} names ${path}, which does not exist`);
  return path;
}

/** Debian's own, where nothing can be built. */
function packaged({ name, debian }) {
  if (debian === undefined || goObstacle() === undefined) return undefined;
  const path = join(CACHE_DIR, "packages", SUITE, debian, "usr/bin", name);
  return existsSync(path) ? path : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const say = (text) => process.stderr.write(`build: ${text}\n`);
  try {
    console.log((await buildControlPlane({ say })).apiserver);
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
