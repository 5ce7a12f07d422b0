/**
 * Container images as files: rootfs entries and a config become a docker-archive, the format that
 * `ctr images import` and `docker load` read. Same input, same bytes, same image id.
 */
import { createHash } from "node:crypto";
import { type TarEntry, writeTar } from "./tar.ts";

/** The image's run configuration; absent fields stay absent in the config. */
export interface ImageConfig {
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `uid`, `uid:gid`, `name` or `name:group`. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Like `8080/tcp`. */
  readonly exposedPorts?: readonly string[];
  readonly volumes?: readonly string[];
  /** Like `SIGUSR1`. */
  readonly stopSignal?: string;
}

/** One image: references, config and layers from bottom to top. */
export interface ImageSpec {
  /** Full references with host and tag, like `nodelet.test/pause:1`. */
  readonly names: readonly string[];
  readonly config: ImageConfig;
  readonly layers: readonly Uint8Array[];
}

/** Go's name of this machine's architecture, as image configs spell it. */
export function goArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}

/** A layer of the given files, to be shared by several images. */
export function layer(entries: readonly TarEntry[]): Uint8Array {
  return writeTar(entries);
}

/** `architecture` in Go's spelling. The id is the digest of the config, `sha256:…`. */
export function imageId(spec: ImageSpec, architecture: string): string {
  return `sha256:${sha256(configBytes(spec, architecture))}`;
}

/** All images in one docker-archive; layers that are equal are stored once. */
export function dockerArchive(images: readonly ImageSpec[], architecture: string): Uint8Array {
  const blobs = new Map<string, Uint8Array>();
  const manifest = images.map((spec) => {
    const config = configBytes(spec, architecture);
    const configName = `${sha256(config)}.json`;
    blobs.set(configName, config);
    const layers = spec.layers.map((bytes) => {
      const name = `${sha256(bytes)}.tar`;
      blobs.set(name, bytes);
      return name;
    });
    return { Config: configName, RepoTags: spec.names, Layers: layers };
  });
  const entries = [...blobs].map(
    ([path, content]): TarEntry => ({ kind: "file", path, content, mode: 0o644 }),
  );
  entries.push({ kind: "file", path: "manifest.json", content: json(manifest) });
  return writeTar(entries);
}

/** The config of an image as it is stored; its digest is the image's id. */
export function configBytes(spec: ImageSpec, architecture: string): Uint8Array {
  const digests = spec.layers.map((bytes) => `sha256:${sha256(bytes)}`);
  return imageConfigBytes(spec.config, digests, architecture);
}

/** The config of an image whose uncompressed layers have these digests. */
export function imageConfigBytes(
  config: ImageConfig,
  layerDigests: readonly string[],
  architecture: string,
): Uint8Array {
  const { entrypoint, command, env, user, workingDir, labels, exposedPorts, volumes, stopSignal } =
    config;
  const path = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
  return json({
    architecture,
    os: "linux",
    created: "1970-01-01T00:00:00Z",
    config: {
      Env: Object.entries({ ...path, ...env }).map(([name, value]) => `${name}=${value}`),
      Entrypoint: entrypoint,
      Cmd: command,
      User: user,
      WorkingDir: workingDir,
      Labels: labels,
      ExposedPorts: exposedPorts && Object.fromEntries(exposedPorts.map((port) => [port, {}])),
      Volumes: volumes && Object.fromEntries(volumes.map((volume) => [volume, {}])),
      StopSignal: stopSignal,
    },
    rootfs: { type: "layers", diff_ids: layerDigests },
    history: layerDigests.map(() => ({ created: "1970-01-01T00:00:00Z" })),
  });
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
