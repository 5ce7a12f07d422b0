import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseOf, versionOfRelease } from "../config/release.ts";
import { packageRoot } from "./package-root.ts";

/** The version of Kubernetes whose kubelet an agent with this `compat` follows, e.g. `v1.37.2`. */
export function kubernetesVersion(compat: unknown): string {
  return versionOfRelease(releaseOf(compat));
}

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
 * comparing versions leave aside, e.g. `v1.37.2+nodelet.0.1.0`.
 */
export function kubeletVersion(compat: unknown): string {
  return `${kubernetesVersion(compat)}+nodelet.${nodeletVersion()}`;
}

/** How requests to an API server present themselves, as those of a kubelet do. */
export function userAgent(compat: unknown): string {
  const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
  return `kubelet/${kubeletVersion(compat)} (${platform}) nodelet/${nodeletVersion()}`;
}

/** The same as Go prints the structure it keeps versions in, for `--version=raw`. */
export function rawKubeletVersion(compat: unknown): string {
  const version = kubeletVersion(compat);
  const [major = "", minor = ""] = version.slice(1).split(".");
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
