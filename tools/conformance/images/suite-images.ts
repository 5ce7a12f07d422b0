/** The images that the suites of Kubernetes ask for, made of Debian packages and of programs of its module. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { busyboxEntries } from "../../../src/cli/local-images/busybox.ts";
import {
  goArchitecture,
  type ImageConfig,
  type ImageSpec,
  layer,
} from "../../../src/cli/local-images/image-archive.ts";
import type { TarEntry } from "../../../src/cli/local-images/tar.ts";
import { pauseProgram } from "../../../src/cli/local-images/tiny-elf.ts";
import { debianFiles } from "./debian-files.ts";
import { accountFiles, file, folders, link, merged } from "./root-files.ts";
import { packImage } from "./store.ts";

/** Where the programs are, and the sources of Kubernetes. */
export interface ImageSources {
  readonly program: (name: string) => string;
  readonly kubernetes: string;
  readonly say: (text: string) => void;
}

/** The sandbox image of the suites. */
export const SUITE_PAUSE_IMAGE = "registry.k8s.io/pause:3.10.2";
const AGNHOST_PACKAGES = [
  "bash",
  "curl",
  "bind9-dnsutils",
  "netcat-openbsd",
  "iproute2",
  "iperf",
  "hostname",
  "socat",
  "util-linux",
  "libc-bin",
];
/** Prints the time of the day to the millisecond, as busybox' applet does for tests; Debian's has none. */
const NMETER = `#!/bin/bash
now=$EPOCHREALTIME
printf '%(%H:%M:%S)T.%.3s\\n' "\${now%.*}" "\${now#*.}"
`;
const SHELL = `#!/bin/bash
[ "$*" != "-c env" ] || exec env
exec -a /bin/sh /bin/busybox "$@"
`;
const NGINX = `worker_processes 1;
error_log /dev/stderr notice;
pid /run/nginx.pid;
events { worker_connections 256; }
http { include /etc/nginx/mime.types; access_log /dev/stdout; include /etc/nginx/conf.d/*.conf; }
`;
const NGINX_SITE = `server {
  listen 80;
  listen [::]:80;
  location / { root /usr/share/nginx/html; index index.html; }
}
`;
/** A test reads the name of the image's system. */
const RELEASE = 'NAME="Debian, for tests that expect Alpine Linux"\n';
/** Asked for only so that fetching all images beforehand succeeds. */
const NEVER_RUN = [
  "registry.k8s.io/node-problem-detector/node-problem-detector:v1.35.2",
  "docker.io/nfvpe/sriov-device-plugin:v3.1",
  "gcr.io/cadvisor/cadvisor:v0.47.2",
  ...["node-perf/npb-ep:1.6.0", "node-perf/npb-is:1.7.0"].map(suiteName),
  ...["node-perf/pytorch-wide-deep:1.0.0", "volume/nfs:1.6.0", "volume/iscsi:2.7"].map(suiteName),
];

/** Everything that the store is to have. */
export function suiteImages(sources: ImageSources): ImageSpec[] {
  const busybox = layer(busyboxRoot(sources));
  return [
    pauseImage(),
    ...busyboxImages(busybox),
    ...agnhostImages(sources),
    ...programImages(busybox, sources),
    nginxImage(sources),
    debianImage("perl:5.26", ["perl-base"], { command: ["perl", "-de0"] }, sources),
    debianImage(
      "registry.k8s.io/build-image/distroless-iptables:v0.9.9",
      ["iptables"],
      {},
      sources,
    ),
    ...NEVER_RUN.map((name) =>
      image([name], [busybox], { ...labelled(name), command: ["sleep", "2147483647"] }),
    ),
  ];
}

function suiteName(name: string): string {
  return `registry.k8s.io/e2e-test-images/${name}`;
}

/** Makes an image another one than those of the same content. */
const labelled = (name: string) => ({ labels: { "test.nodelet.name": name } });

function image(
  names: readonly string[],
  layers: readonly Uint8Array[],
  config: ImageConfig,
): ImageSpec {
  return { names, layers, config };
}

function pauseImage(): ImageSpec {
  const program = pauseProgram(goArchitecture());
  if (program === undefined) throw new Error("there is no pause program for this architecture");
  return image([SUITE_PAUSE_IMAGE], [layer([file("pause", program, 0o755)])], {
    user: "65535:65535",
    entrypoint: ["/pause"],
  });
}

/** Debian's busybox drops variables with odd names, which the original passes on: one command that prints them. */
function busyboxRoot({ say }: ImageSources): TarEntry[] {
  return merged(
    folders(["var/spool/mail", "var/www"]),
    busyboxEntries(),
    [...debianFiles(["bash"], say).values()],
    accountFiles(),
    [file("bin/sh", SHELL, 0o755), file("bin/nmeter", NMETER, 0o755)],
  );
}

function busyboxImages(root: Uint8Array): ImageSpec[] {
  const command = ["sh"];
  return [
    image(["busybox:1.37.0-2"].map(suiteName), [root], { command }),
    ...[
      suiteName("busybox:1.36.1-1"),
      ...["1.28", "1.36", "1.36.1", "latest"].map((tag) => `docker.io/library/busybox:${tag}`),
    ].map((name) => image([name], [root], { ...labelled(name), command })),
    image([suiteName("nonroot:1.5")], [root], { command, user: "1234" }),
  ];
}

function agnhostImages(sources: ImageSources): ImageSpec[] {
  const { program, kubernetes, say } = sources;
  const base = layer(
    merged(
      busyboxEntries(),
      [...debianFiles(AGNHOST_PACKAGES, say).values()],
      accountFiles({ userOfImage: true }),
      [
        link("bin/sh", "bash"),
        link("bin/nc", "nc.openbsd"),
        file("bin/nmeter", NMETER, 0o755),
        link("usr/local/bin/iperf", "/usr/bin/iperf"),
      ],
    ),
  );
  const certificate = (name: string) =>
    file(name, readFileSync(join(kubernetes, "test/images/agnhost/porter", name)), 0o644);
  const own = layer([
    file("agnhost", readFileSync(program("agnhost")), 0o755),
    link("agnhost-2", "agnhost"),
    ...folders(["uploads"]),
    certificate("localhost.crt"),
    certificate("localhost.key"),
    ...registryFiles(),
  ]);
  const picture = (name: string) =>
    layer([
      file("data.json", `{\n\t"image": "${name}.jpg"\n}\n`, 0o644),
      file(`${name}.jpg`, name, 0o644),
      file("etc/os-release", RELEASE, 0o644),
    ]);
  const config = {
    entrypoint: ["/agnhost"],
    command: ["pause"],
    exposedPorts: [80, 8080, 8081, 9376, 5000].map((port) => `${port}/tcp`),
  };
  return [
    image([suiteName("agnhost:2.66.1")], [base, own], config),
    image([suiteName("agnhost:2.55")], [base, own], { ...config, ...labelled("agnhost:2.55") }),
    ...["glibc-dns-testing:2.1.1", "ipc-utils:1.4"].map((name) =>
      image([suiteName(name)], [base], { ...labelled(name), command: ["bash"] }),
    ),
    ...["kitten", "nautilus"].map((name) =>
      image([suiteName(`${name}:1.8`)], [base, own, picture(name)], {
        ...config,
        ...labelled(`${name}:1.8`),
        command: ["test-webserver"],
      }),
    ),
  ];
}

/** The one image that agnhost's own registry serves, in the layout of its folder. */
function registryFiles(): TarEntry[] {
  const { manifest, digest, blobs } = packImage(pauseImage());
  const place = (kind: string, name: string) => {
    const hash = name.slice("sha256:".length);
    return `var/registry/pause/${kind}/sha256/${hash.slice(0, 2)}/${hash}/data`;
  };
  return [
    file("var/registry/pause/manifests/testing", `${digest}\n`, 0o644),
    file(place("manifests", digest), manifest, 0o644),
    ...[...blobs].map(([name, bytes]) => file(place("blobs", name), bytes, 0o644)),
  ];
}

function programImages(busybox: Uint8Array, { program, say }: ImageSources): ImageSpec[] {
  const withPrograms = (programs: Readonly<Record<string, string>>, mode = 0o755) =>
    layer(
      Object.entries(programs).map(([path, name]) => file(path, readFileSync(program(name)), mode)),
    );
  const entrypoint = (...words: string[]) => ({ entrypoint: words });
  const devices = withPrograms({ sampledeviceplugin: "sample-device-plugin" });
  const consumer = withPrograms({ consumer: "resource-consumer", "consume-cpu": "consume-cpu" });
  const stress = layer([...debianFiles(["stress"], say).values()]);
  return [
    image(
      [suiteName("nonewprivs:1.4")],
      [busybox, withPrograms({ "usr/local/bin/nnp": "nonewprivs" }, 0o6755)],
      {
        command: ["nnp"],
      },
    ),
    image(
      ["sample-device-plugin:1.7", "sample-device-plugin:1.8.0"].map(suiteName),
      [busybox, devices],
      entrypoint("/sampledeviceplugin", "-alsologtostderr"),
    ),
    image(
      [suiteName("regression-issue-74839:1.5")],
      [busybox, withPrograms({ "regression-issue-74839": "regression-issue-74839" })],
      entrypoint("/regression-issue-74839"),
    ),
    image(
      [suiteName("sample-apiserver:1.29.2")],
      [busybox, withPrograms({ "sample-apiserver": "sample-apiserver" })],
      entrypoint("/sample-apiserver"),
    ),
    image(
      [suiteName("resource-consumer:1.14")],
      [busybox, stress, consumer],
      entrypoint("/consumer"),
    ),
    image(
      ["registry.k8s.io/etcd:3.7.0-0"],
      [busybox, withPrograms({ "usr/local/bin/etcd": "etcd" })],
      { command: ["etcd"] },
    ),
  ];
}

function nginxImage({ say }: ImageSources): ImageSpec {
  const root = merged(
    busyboxEntries(),
    [...debianFiles(["nginx"], say).values()],
    accountFiles(),
    folders(["etc/nginx/conf.d", "var/log/nginx", "var/lib/nginx"]),
    [
      file("etc/nginx/nginx.conf", NGINX, 0o644),
      file("etc/nginx/conf.d/default.conf", NGINX_SITE, 0o644),
    ],
  );
  return image(
    [suiteName("nginx:1.27.0-2"), suiteName("nginx:1.28.0-2"), "docker.io/library/nginx:latest"],
    [layer(root)],
    {
      command: ["nginx", "-g", "daemon off;"],
      stopSignal: "SIGQUIT",
    },
  );
}

function debianImage(
  name: string,
  packages: readonly string[],
  config: ImageConfig,
  { say }: ImageSources,
): ImageSpec {
  const root = merged(busyboxEntries(), [...debianFiles(packages, say).values()], accountFiles());
  return image([name.includes("/") ? name : suiteName(name)], [layer(root)], config);
}
