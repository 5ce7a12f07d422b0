#!/bin/busybox sh
# First process of the guest: loads modules, puts the machine's own files beneath writable ones of its own,
# and runs the command that the kernel's command line names. Ends the guest whatever happens.
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /new /ram
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
left="$(ls /modules)"
# Modules need one another: what fails now is tried again after the others.
for pass in 1 2 3 4 5 6 7 8; do
  again=""
  for module in $left; do insmod "/modules/$module" 2>/dev/null || again="$again $module"; done
  [ -n "$again" ] || break
  left=$again
done
[ -z "$again" ] || echo "guest: not loaded:$again"

mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /new || echo "guest: no files of the machine"
mount -t tmpfs -o mode=755 tmpfs /ram
for place in etc opt var; do
  mkdir -p "/ram/$place" "/ram/.work/$place"
  mount -t overlay -o "lowerdir=/new/$place,upperdir=/ram/$place,workdir=/ram/.work/$place" overlay "/new/$place"
done
# The checkout may lie below a folder that is about to be covered.
checkout="$(sed -n 's/.*guest\.checkout=\([^ ]*\).*/\1/p' /proc/cmdline | base64 -d)"
mkdir -p /checkout
mount -o bind "/new$checkout" /checkout
for place in tmp run root; do mount -t tmpfs -o mode=1777 tmpfs "/new/$place"; done
mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t devtmpfs devtmpfs /new/dev
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs tmpfs /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
mkdir -p "/new$checkout" 2>/dev/null
mount -o move /checkout "/new$checkout"
mount --make-rshared /new 2>/dev/null
hostname guest
ip link set lo up
# The command comes base64-encoded, so that the kernel takes nothing of it for its own.
sed -n 's/.*guest\.command=\([^ ]*\).*/\1/p' /proc/cmdline | base64 -d >/new/run/command
cp /bin/busybox /new/run/busybox
cat >/new/run/first <<'END'
echo "guest: ready"
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  /bin/sh /run/command </dev/null
echo "guest: ended with $?"
/run/busybox sync
/run/busybox poweroff -f
END
umount /dev
umount /sys
umount /proc
# The machine's files become the root for good: who enters a namespace of mounts starts at its root.
exec switch_root /new /bin/sh /run/first
