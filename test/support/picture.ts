/** A picture of a machine in a box, and how two of them differ. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "../box/box.ts";

/**
 * Everything that an agent and its pods could leave behind in the box, one thing a line, sorted. What others do on the
 * machine around it is not in the picture.
 */
export async function machinePicture(box: Box): Promise<readonly string[]> {
  const script = `
    for pid in $(ps -eo pid= --no-headers); do
      name=$(cat /proc/$pid/comm 2>/dev/null) || continue
      case $name in sh|ps|cat|nsenter) ;; *) echo "process $name" ;; esac
    done
    awk '{ print "mount", $5 }' /proc/self/mountinfo
    find /sys/fs/cgroup/ -type d -printf 'cgroup %p\\n' 2>/dev/null
    # Of /etc, /opt and /var only what was written in the box: the machine's own files show through, and other
    # programs of the machine change them.
    for place in etc opt var/lib var/log usr/local/bin; do
      (cd ${box.folder}/store/layers 2>/dev/null && find $place -type c -printf 'deleted /%p\\n' \\
        -o -printf 'written /%p\\n' 2>/dev/null)
    done
    find /run /usr/libexec -xdev -printf 'file %p\\n'
    for table in filter nat mangle; do
      iptables -t $table -S | grep -v -- '^-P' | sed "s/^/rule $table /"
    done
    ip -o link | awk -F': ' '{ print "interface", $2 }'
    exit 0`;
  const text = await box.run(["sh", "-c", script]);
  return (
    text
      .split("\n")
      .filter((line) => line !== "" && !/(?:ip|x)tables\.lock/.test(line))
      // Other tests mount below the machine's /tmp meanwhile.
      .filter((line) => !line.startsWith("mount /tmp/") || line.startsWith(`mount ${box.folder}`))
      .flatMap((line) => madeInBox(line, box.options.root ?? "/"))
      .sort()
  );
}

/** Writing to what the system of the box has, or into its folders, makes copies in the box, which are nothing new. */
function madeInBox(line: string, root: string): string[] {
  const [, path] = /^written (.*)$/.exec(line) ?? [];
  if (path === undefined) return [line];
  return existsSync(join(root, path)) ? [] : [`file ${path}`];
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
