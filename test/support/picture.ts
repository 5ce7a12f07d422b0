/** A picture of a machine in a box, and how two of them differ. */
import type { Box } from "../box/box.ts";

/** Everything on the machine that an agent and its pods could leave behind, one thing a line, sorted. */
export async function machinePicture(box: Box): Promise<readonly string[]> {
  const script = `
    for pid in $(ps -eo pid= --no-headers); do
      name=$(cat /proc/$pid/comm 2>/dev/null) || continue
      case $name in sh|ps|cat|nsenter) ;; *) echo "process $name" ;; esac
    done
    awk '{ print "mount", $5 }' /proc/self/mountinfo
    find /sys/fs/cgroup/ -type d -printf 'cgroup %p\\n' 2>/dev/null
    find /run /etc /var/lib /var/log /opt /usr/libexec -xdev -printf 'file %p\\n'
    for table in filter nat mangle; do
      iptables -t $table -S | grep -v -- '^-P' | sed "s/^/rule $table /"
    done
    ip -o link | awk -F': ' '{ print "interface", $2 }'
    exit 0`;
  const text = await box.run(["sh", "-c", script]);
  return text
    .split("\n")
    .filter((line) => line !== "" && !/iptables\.lock/.test(line))
    .sort();
}

/** What is there now and was not before, and the other way round. */
export function differences(
  before: readonly string[],
  after: readonly string[],
): readonly string[] {
  const [had, has] = [new Set(before), new Set(after)];
  return [
    ...after.filter((line) => !had.has(line)).map((line) => `new: ${line}`),
    ...before.filter((line) => !has.has(line)).map((line) => `gone: ${line}`),
  ];
}
