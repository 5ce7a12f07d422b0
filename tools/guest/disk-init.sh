#!/bin/busybox sh
# First process of a guest with a disk of its own: loads modules and hands over to the init of the system on the disk.
. /prepare.sh
mount -t ext4 /dev/vda /new || echo "guest: no system on the first disk"
mount -o move /dev /new/dev
umount /sys
umount /proc
exec switch_root /new /sbin/init
