import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./package-root.ts";

/** The release of Kubernetes whose kubelet this agent follows. */
export const KUBERNETES_VERSION = "v1.36.2";

/** Version of nodelet, e.g. `0.1.0`; built in, or read from the checkout. */
export function nodeletVersion(): string {
  const built = process.env["NODELET_BUILD_VERSION"];
  if (built !== undefined && built !== "") return built;
  const text = readFileSync(join(packageRoot(), "package.json"), "utf8");
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === "string" ? version : "0.0.0";
}

/**
 * The version a kubelet reports: Kubernetes' own with nodelet's as build metadata, which the rules for
 * comparing versions leave aside, e.g. `v1.36.2+nodelet.0.1.0`.
 */
export function kubeletVersion(): string {
  return `${KUBERNETES_VERSION}+nodelet.${nodeletVersion()}`;
}

/** How requests to an API server present themselves, as those of a kubelet do. */
export function userAgent(): string {
  const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
  return `kubelet/${kubeletVersion()} (${platform}) nodelet/${nodeletVersion()}`;
}

/** The same as Go prints the structure it keeps versions in, for `--version=raw`. */
export function rawKubeletVersion(): string {
  const version = kubeletVersion();
  const [major = "", minor = ""] = KUBERNETES_VERSION.slice(1).split(".");
  const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
  const fields = {
    Major: major,
    Minor: minor,
    GitVersion: version,
    GitCommit: "",
    GitTreeState: "",
    BuildDate: "",
    GoVersion: `node ${process.version}`,
    Compiler: "v8",
    Platform: platform,
  };
  const parts = Object.entries(fields).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${parts.join(", ")}}`;
}
