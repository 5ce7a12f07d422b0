#!/bin/sh
# The first process of a box: makes the namespaces it was started in into a node, says `ready`, and then
# only reaps orphans until standard input ends. With it everything else in the box ends.
#
# In: BOX_ID BOX_DIR BOX_CHECKOUT BOX_HOSTNAME BOX_ADDRESS BOX_PREFIX BOX_GATEWAY BOX_ADDRESS6 (may be empty)
# BOX_STORE_MIB (0: no file system of its own) BOX_STORE_IN (`memory`, or `file` for ext4 in a sparse file)
# BOX_CGROUP_VERSION (1 or 2) BOX_ROOT (folder of another system that the box is to have; may be empty)
# BOX_IMAGES (folder with images to import) BOX_INIT (`sh`, or `systemd`, which then takes the place of this script)
# Out: lines on standard output: `pid N` (of this process, as the machine sees it), `ready` or `fail WHY`.
set -eu
exec 3<&0 </dev/null
trap 'echo "fail preparing the box (see its log)"' EXIT
read -r pid _ </proc/self/stat
echo "pid $pid"
umask 022

# Disk: /etc, /opt and /var keep the machine's content but take writes away into memory; a node's own
# directories are empty and share one file system of limited size, as on a machine with one disk.
store=$BOX_DIR/store
mkdir "$store"
case $BOX_STORE_MIB:$BOX_STORE_IN in
  0:*) ;;
  *:file)
    # The kernel gives the loop device back when the last mount of it goes.
    truncate -s "${BOX_STORE_MIB}M" "$BOX_DIR/disk.ext4"
    mkfs.ext4 -q -m 0 -E nodiscard "$BOX_DIR/disk.ext4"
    mount -o loop "$BOX_DIR/disk.ext4" "$store"
    ;;
  *) mount -t tmpfs -o "mode=755,size=${BOX_STORE_MIB}m" nodelet-box "$store" ;;
esac
if [ -n "$BOX_ROOT" ]; then
  # Another system in place of the machine's: of that one stay the kernel's views, the box's own folder and the checkout.
  root=$store/root
  mkdir -p "$root" "$store/layers" "$store/work/root"
  mount -t overlay -o "lowerdir=$BOX_ROOT,upperdir=$store/layers,workdir=$store/work/root" nodelet-box "$root"
  for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
  mount -t tmpfs -o mode=1777 nodelet-box "$root/tmp"
  for place in "$BOX_DIR" "$store" "$BOX_CHECKOUT" "$BOX_IMAGES"; do
    mkdir -p "$place" "$root$place"
    mount --bind "$place" "$root$place"
  done
  mkdir "$root/.machine"
  cd "$root"
  pivot_root . .machine
  umount --lazy /.machine
  rmdir /.machine
fi
# The checkout, which may lie where the box has something else.
mkdir "$store/checkout"
mount --bind "$BOX_CHECKOUT" "$store/checkout"
for place in etc opt var usr/local; do
  [ -d "/$place" ] && [ -z "$BOX_ROOT" ] || continue
  mkdir -p "$store/layers/$place" "$store/work/$place"
  mount -t overlay -o "lowerdir=/$place,upperdir=$store/layers/$place,workdir=$store/work/$place" \
    nodelet-box "/$place"
done
for place in var/lib/kubelet var/lib/containerd var/lib/cni var/lib/nodelet var/log/pods var/log/containers \
  var/cache/nodelet etc/cni/net.d etc/containerd etc/nodelet etc/kubernetes; do
  mkdir -p "$store/disk/$place" "/$place"
  mount --bind "$store/disk/$place" "/$place"
done
mount -t tmpfs -o mode=755 nodelet-box /run
mkdir -p -m 755 /run/netns /run/containerd /run/nodelet /run/lock
mkdir -m 1777 /run/tmp
if [ ! "$BOX_CHECKOUT/package.json" -ef "$store/checkout/package.json" ]; then
  mkdir -p "$BOX_CHECKOUT"
  mount --bind "$store/checkout" "$BOX_CHECKOUT"
fi
umount "$store/checkout"
rmdir "$store/checkout"
hostname "$BOX_HOSTNAME"
echo "$BOX_HOSTNAME" >/etc/hostname
printf '127.0.0.1 localhost\n%s %s\n' "$BOX_ADDRESS" "$BOX_HOSTNAME" >/etc/hosts
rm -f /etc/resolv.conf
printf 'nameserver %s\nsearch box.test\n' "$BOX_GATEWAY" >/etc/resolv.conf
printf '%s' "$BOX_ID" | sha256sum | cut -c1-32 >/etc/machine-id

# Kernel: an own view of processes; the settings that an agent changes for the whole machine are copies.
mount -t proc proc /proc
for knob in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  [ -e "/proc/sys/$knob" ] || continue
  mkdir -p "$store/sysctl/${knob%/*}"
  cat "/proc/sys/$knob" >"$store/sysctl/$knob"
  mount --bind "$store/sysctl/$knob" "/proc/sys/$knob"
done
# User-Mode Linux does not report a clock speed, without which the Go kubelet does not start.
! grep -q "^vendor_id.*User Mode Linux" /proc/cpuinfo || {
  sed "s/^model name.*/&\ncpu MHz\t\t: 1000.000/" /proc/cpuinfo >"$store/cpuinfo"
  mount --bind "$store/cpuinfo" /proc/cpuinfo
}
# The kernel gives user namespaces a /proc only where one is seen with nothing mounted over it.
mkdir -m 700 /run/whole-proc
mount -t proc proc /run/whole-proc

# Cgroups: the box's own groups are the roots of what it sees.
umount --recursive --lazy /sys/fs/cgroup
mount -t sysfs sysfs /sys
if [ "$BOX_CGROUP_VERSION" = 2 ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  [ "$BOX_INIT" = systemd ] || for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || true
  done
else
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  while IFS=: read -r _ controllers _; do
    place=${controllers#name=}
    mkdir "/sys/fs/cgroup/${place:=unified}"
    case $controllers in
      "") mount -t cgroup2 cgroup2 "/sys/fs/cgroup/$place" ;;
      name=*) mount -t cgroup -o "none,$controllers" cgroup "/sys/fs/cgroup/$place" ;;
      *) mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$place" ;;
    esac
    case $controllers in
      *,*) for one in $(echo "$controllers" | tr , ' '); do ln -s "$place" "/sys/fs/cgroup/$one"; done ;;
    esac
  done </proc/self/cgroup
fi
# As under systemd: mounts made in the box are seen by those who ask for propagation, and only there.
mount --make-rshared /

# Network: an interface with the node's address whose other end leads nowhere.
ip link set lo up
ip link add eth0 type veth peer name eth0-wire
ip address add "$BOX_ADDRESS/$BOX_PREFIX" dev eth0
[ -z "$BOX_ADDRESS6" ] || ip address add "$BOX_ADDRESS6/64" dev eth0 nodad
ip link set eth0-wire up
ip link set eth0 up
ip route add default via "$BOX_GATEWAY"

trap - EXIT
set +e
if [ "$BOX_INIT" = systemd ]; then
  # Only the bus and the manager itself: what else the machine would start is not the box's.
  mkdir -p /run/systemd/system
  printf '[Unit]\nDescription=a box\nRequires=dbus.socket\nAfter=dbus.socket\nAllowIsolate=yes\n' \
    >/run/systemd/system/box.target
  for unit in systemd-tmpfiles-setup.service systemd-journald.service systemd-journald.socket \
    systemd-journald-dev-log.socket systemd-update-done.service systemd-sysctl.service; do
    ln -s /dev/null "/run/systemd/system/$unit"
  done
  (
    until busctl --system call org.freedesktop.systemd1 /org/freedesktop/systemd1 \
      org.freedesktop.DBus.Peer Ping >/dev/null 2>&1; do sleep 0.1; done
    echo ready
    exec >/dev/null
    cat <&3
    # Everything but the first process, which SIGRTMIN+14 switches off.
    kill -9 -1
    kill -48 1
  ) &
  exec 3<&-
  # systemd takes the group it starts in for the root, and has its own processes in groups of their own.
  [ "$BOX_CGROUP_VERSION" = 1 ] || echo 1 >/sys/fs/cgroup/cgroup.procs
  exec env container=nodelet-box /lib/systemd/systemd --unit=box.target --show-status=0 \
    --log-target=null >/dev/null
fi
cat <&3 >/dev/null &
lifeline=$!
echo ready
wait "$lifeline"
exit 0
