#!/bin/busybox sh
# First process of a guest on the files of this machine: loads modules, covers folders that are written to with
# overlays in memory, and runs the command that the kernel's command line names. Ends the guest whatever happens.
. /prepare.sh

mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /new || echo "guest: no files of the machine"
mkdir -p /ram
mount -t tmpfs -o mode=755 tmpfs /ram
argument() { sed -n "s/.*guest\.$1=\([^ ]*\).*/\1/p" /proc/cmdline | base64 -d; }
# Folders that are seen may lie below others that are about to be covered.
count=0
for folder in $(argument folders); do
  count=$((count + 1))
  mkdir -p "/keep/$count" "/ram/keep/$count" "/ram/.work/keep/$count"
  mount -t overlay -o "lowerdir=/new$folder,upperdir=/ram/keep/$count,workdir=/ram/.work/keep/$count" overlay "/keep/$count"
done
for place in etc opt var; do
  mkdir -p "/ram/$place" "/ram/.work/$place"
  mount -t overlay -o "lowerdir=/new/$place,upperdir=/ram/$place,workdir=/ram/.work/$place" overlay "/new/$place"
done
for place in tmp run root; do mount -t tmpfs -o mode=1777 tmpfs "/new/$place"; done
mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t devtmpfs devtmpfs /new/dev
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs tmpfs /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
count=0
for folder in $(argument folders); do
  count=$((count + 1))
  mkdir -p "/new$folder" 2>/dev/null
  mount -o move "/keep/$count" "/new$folder"
done
mount --make-rshared /new 2>/dev/null
hostname guest
ip link set lo up
# The command comes base64-encoded, so that the kernel takes nothing of it for its own.
argument command >/new/run/command
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
