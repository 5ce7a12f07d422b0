// The system of the guest: a Debian with systemd and the container runtime of its suite, as an image of a disk.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CACHE_DIR } from "../../debian-suite.mjs";
import { debianObstacle, debianRoot } from "../debian-root.mjs";

/** The suite after Debian 13: containerd 2.1 and runc 1.3. */
const SUITE = "forky";
const PACKAGES = [
  ...["systemd", "systemd-sysv", "dbus", "kmod", "init-system-helpers", "libatomic1"],
  ...["containerd", "runc", "containernetworking-plugins", "iptables", "iproute2"],
  ...["mount", "util-linux", "curl", "jq", "procps", "busybox-static", "e2fsprogs", "fuse3"],
  // For pivot_root, which a box with another system than the machine's needs.
  ...["openssl", "perl-base", "ca-certificates", "crun", "util-linux-extra"],
];
const DISK_BYTES = 8 * 1024 ** 3;

/** What only costs time here, or waits for devices that nobody announces; tests start a containerd of their own. */
const MASKED = [
  ...["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"],
  ...["e2scrub_reap.service", "fstrim.timer", "getty.target", "systemd-pcrphase.service"],
  ...["systemd-udevd.service", "systemd-udev-trigger.service", "systemd-hwdb-update.service"],
  ...["containerd.service", "systemd-networkd.service", "systemd-timesyncd.service"],
];

const UNIT = `[Unit]
Description=the command of the host
After=basic.target dbus.service systemd-logind.service
Wants=systemd-logind.service
[Service]
Type=oneshot
Environment=HOME=/root
Delegate=yes
ExecStart=/usr/local/sbin/guest-run
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
`;

/** Why it cannot be made here; undefined when it can, or was. */
export function rootObstacle() {
  return existsSync(imagePath()) ? undefined : debianObstacle(SUITE, PACKAGES);
}

const programOfGuest = () => join(import.meta.dirname, "guest-run.sh");

/** The image's path, named by the digest of what it is made from. */
export function imagePath() {
  const digest = createHash("sha256")
    .update(JSON.stringify([SUITE, PACKAGES, MASKED, UNIT, DISK_BYTES]))
    .update(readFileSync(programOfGuest()))
    .digest("hex");
  return join(CACHE_DIR, "guest", `${SUITE}-${digest.slice(0, 16)}.ext4`);
}

/** The image from the cache; makes it there the first time, which takes 3 minutes. Never written to afterwards. */
export function rootImage({ say = () => {} } = {}) {
  const path = imagePath();
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  const root = `${path}.${process.pid}.d`;
  const partial = `${path}.${process.pid}`;
  for (const each of [root, partial]) rmSync(each, { recursive: true, force: true });
  say(`making the guest's disk: Debian ${SUITE}`);
  run("cp", ["-a", "--reflink=auto", debianRoot(SUITE, PACKAGES), root]);
  write(root, "/etc/hostname", "guest\n");
  write(root, "/etc/hosts", "127.0.0.1 localhost\n192.0.2.10 guest\n");
  write(root, "/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  write(root, "/etc/sysctl.d/pods.conf", "net.ipv4.ip_forward=1\n");
  write(root, "/etc/systemd/system/guest-run.service", UNIT);
  link(root, "multi-user.target.wants/guest-run.service", "/etc/systemd/system/guest-run.service");
  for (const name of MASKED) link(root, name, "/dev/null");
  copyFileSync(programOfGuest(), join(root, "usr/local/sbin/guest-run"));
  chmodSync(join(root, "usr/local/sbin/guest-run"), 0o755);
  writeFileSync(partial, "");
  truncateSync(partial, DISK_BYTES);
  run("mke2fs", ["-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", root, partial]);
  rmSync(root, { recursive: true });
  renameSync(partial, path);
  return path;
}

function run(program, argv) {
  execFileSync(program, argv, { stdio: ["ignore", "ignore", "inherit"] });
}

function write(root, path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function link(root, name, target) {
  const path = join(root, "etc/systemd/system", name);
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  symlinkSync(target, path);
}
