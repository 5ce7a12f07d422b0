#!/bin/sh
# Runs one box from outside: makes its cgroups, starts init.sh inside new namespaces, and when that has
# ended, for whatever reason, removes cgroups and directory. `outer.sh sweep` removes what boxes left whose
# processes are gone. Standard input is the box's lifeline: at its end the box ends.
#
# In: BOX_ID, BOX_DIR and what init.sh takes. BOX_CGROUPS: the roots of the hierarchies, blank-separated.
set -u
prefix=nodelet-box-

# remove_cgroup PATH: kills what is left in it, then removes it and everything below.
remove_cgroup() {
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    [ -d "$1" ] || return 0
    find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do
      kill -KILL "$pid" 2>/dev/null
    done
    find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -d "$1" ] || return 0
    sleep 0.1
  done
  echo "could not remove $1" >&2
}

# clean ID DIRECTORY
clean() {
  for root in $BOX_CGROUPS; do remove_cgroup "$root/$prefix$1"; done
  rm -rf --one-file-system "$2"
}

# alive DIRECTORY: does the outer.sh that made the box still run? (its pid and start time are in `owner`)
alive() {
  { read -r pid started <"$1/owner"; } 2>/dev/null || return 1
  [ "$(start_time "$pid")" = "$started" ]
}

start_time() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  set -- ${stat##*) }
  [ "$1" != Z ] || return 0
  echo "${20}"
}

sweep() {
  for dir in "$BOX_HOME/$prefix"*; do
    [ -d "$dir" ] || continue
    alive "$dir" && continue
    # A directory without an owner may belong to a box that is just starting.
    [ -e "$dir/owner" ] || [ -z "$(find "$dir" -maxdepth 0 -mmin -1 2>/dev/null)" ] || continue
    clean "${dir##*/"$prefix"}" "$dir"
  done
  for root in $BOX_CGROUPS; do
    for group in "$root/$prefix"*; do
      [ -d "$group" ] || continue
      [ -d "$BOX_HOME/${group##*/}" ] || remove_cgroup "$group"
    done
  done
}

if [ "${1:-}" = sweep ]; then
  sweep
  exit 0
fi

# Renamed into place: a sweep that read the file while it is still empty would remove the box as it starts.
echo "$$ $(start_time $$)" >"$BOX_DIR/owner.new"
mv "$BOX_DIR/owner.new" "$BOX_DIR/owner"
for root in $BOX_CGROUPS; do
  # Version 2: a group can only have the controllers that the one above it hands down, as any node does.
  [ "$BOX_CGROUP_VERSION" = 1 ] || for controller in $(cat "$root/cgroup.controllers"); do
    echo "+$controller" >"$root/cgroup.subtree_control" || true
  done
  mkdir "$root/$prefix$BOX_ID" || { echo "fail cannot create a cgroup below $root"; exit 1; }
  for knob in cpuset.cpus cpuset.mems; do
    [ ! -e "$root/$prefix$BOX_ID/$knob" ] || [ -e "$root/$prefix$BOX_ID/cgroup.type" ] ||
      cat "$root/$knob" >"$root/$prefix$BOX_ID/$knob"
  done
done

# The box's groups become the roots of its view. In version 2 a group with controllers may hold no
# processes, so everything then moves into the group `system`.
(
  for root in $BOX_CGROUPS; do sh -c 'echo $PPID >"$0"' "$root/$prefix$BOX_ID/cgroup.procs"; done
  [ "$BOX_CGROUP_VERSION" = 1 ] || mkdir "$root/$prefix$BOX_ID/system"
  exec unshare --cgroup sh -c '
    [ "$BOX_CGROUP_VERSION" = 1 ] || echo $$ >"$0/system/cgroup.procs"
    exec unshare --mount --uts --ipc --net --pid --fork --kill-child --propagation private \
      sh "$BOX_SCRIPTS/init.sh"' "$root/$prefix$BOX_ID"
)
code=$?
clean "$BOX_ID" "$BOX_DIR"
exit $code
