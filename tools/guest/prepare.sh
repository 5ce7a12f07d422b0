# Of the first process of a guest: programs, file systems of the kernel, modules.
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /new
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
