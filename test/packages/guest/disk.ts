/**
 * A disk with a Debian that boots systemd: the packages of a suite, nodelet's own, containerd's configuration, images and
 * manifests. What is slow to get, the unpacked Debian, is kept in the cache outside the checkout.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { debianRoot } from "../../../tools/guest/debian-root.mjs";
import { archiveFile, PAUSE_IMAGE, standardImages } from "../../box/images.ts";

const SUITE = "bookworm";
const PACKAGES = [
  ...["systemd", "systemd-sysv", "dbus", "kmod", "init-system-helpers", "libatomic1"],
  ...["containerd", "containernetworking-plugins", "iptables", "iproute2", "mount"],
  ...["curl", "jq", "procps"],
];
const DISK_BYTES = 6 * 1024 ** 3;

/** What only costs time where every instruction is emulated, and waits for devices that nobody announces. */
const MASKED = [
  ...["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"],
  ...["e2scrub_reap.service", "fstrim.timer", "getty.target", "systemd-pcrphase.service"],
];

const CONTAINERD_CONFIG = `version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE_IMAGE}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
`;

const NETWORK = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: "10.88.0.0/16" }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

/** A unit that runs once before the agent. */
const once = (description: string, order: readonly string[], command: string): string =>
  [
    "[Unit]",
    `Description=${description}`,
    ...order,
    "[Service]",
    "Type=oneshot",
    "RemainAfterExit=yes",
    `ExecStart=/bin/sh -c '${command}'`,
    "[Install]",
    "WantedBy=multi-user.target",
    "",
  ].join("\n");

const UNITS: Readonly<Record<string, string>> = {
  "guest-network.service": once(
    "an interface with an address",
    ["Before=network-online.target network.target", "DefaultDependencies=yes"],
    "ip link set lo up; ip link add eth0 type dummy; ip address add 192.0.2.10/24 dev eth0; ip link set eth0 up; ip route add default via 192.0.2.1",
  ),
  "guest-images.service": once(
    "images of the tests",
    [
      "After=containerd.service",
      "Wants=containerd.service",
      "Before=nodelet.service",
      "ConditionPathExists=!/var/lib/images.done",
    ],
    "ctr -n k8s.io images import /var/lib/images.tar && touch /var/lib/images.done",
  ),
  "guest-channel.service": [
    "[Unit]",
    "Description=commands of the test",
    "After=dbus.service",
    "[Service]",
    "ExecStart=/usr/local/sbin/guest-channel",
    "Restart=always",
    "[Install]",
    "WantedBy=multi-user.target",
    "",
  ].join("\n"),
};

/** What is on a disk beside Debian. */
export interface DiskOptions {
  /** Path of nodelet's Debian package. */
  readonly debian: string;
  /** Folder with kernel modules: `<version>/…`. */
  readonly modules: string;
  /** Text files by their absolute paths; those of /etc are there before the package is installed. */
  readonly files: Readonly<Record<string, string>>;
  /** A folder for what is only needed meanwhile. */
  readonly work: string;
}

/** Makes the disk's image at `path`. Takes half a minute, some minutes the first time on a machine. */
export function makeDisk(path: string, { debian, modules, files, work }: DiskOptions): void {
  const root = join(work, "root");
  execFileSync("cp", ["-a", "--reflink=auto", debianRoot(SUITE, PACKAGES), root]);
  cpSync(modules, join(root, "lib/modules"), { recursive: true });
  const [version] = execFileSync("ls", [modules], { encoding: "utf8" }).trim().split("\n");
  run(root, "depmod", version ?? "");
  write(root, "/etc/hostname", "guest\n");
  write(root, "/etc/hosts", "127.0.0.1 localhost\n192.0.2.10 guest\n");
  write(root, "/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  write(root, "/etc/containerd/config.toml", CONTAINERD_CONFIG);
  write(root, "/etc/cni/net.d/10-pods.conflist", JSON.stringify(NETWORK));
  write(root, "/etc/modules-load.d/pods.conf", "overlay\nbr_netfilter\n");
  write(root, "/etc/sysctl.d/pods.conf", "net.ipv4.ip_forward=1\n");
  copyFileSync(archiveFile(standardImages()), join(root, "var/lib/images.tar"));
  copyFileSync(join(import.meta.dirname, "channel.sh"), join(root, "usr/local/sbin/guest-channel"));
  chmodSync(join(root, "usr/local/sbin/guest-channel"), 0o755);
  for (const [name, text] of Object.entries(UNITS)) {
    write(root, `/etc/systemd/system/${name}`, text);
    link(root, `multi-user.target.wants/${name}`, `/etc/systemd/system/${name}`);
  }
  for (const name of MASKED) link(root, name, "/dev/null");
  copyFileSync(debian, join(root, "tmp/nodelet.deb"));
  run(root, "dpkg", "--install", "/tmp/nodelet.deb");
  rmSync(join(root, "tmp/nodelet.deb"));
  for (const [place, text] of Object.entries(files)) write(root, place, text);
  writeFileSync(path, "");
  truncateSync(path, DISK_BYTES);
  execFileSync("mke2fs", ["-q", "-t", "ext4", "-d", root, path]);
  rmSync(root, { recursive: true });
}

function run(root: string, ...argv: readonly string[]): void {
  execFileSync("chroot", [root, ...argv], {
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function link(root: string, name: string, target: string): void {
  const path = join(root, "etc/systemd/system", name);
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  symlinkSync(target, path);
}
