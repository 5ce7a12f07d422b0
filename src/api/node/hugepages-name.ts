// pure

/** The resource of huge pages of one size, e.g. `hugepages-2Mi`. */
export function hugepagesName(sizeBytes: number): string {
  const units = ["", "Ki", "Mi", "Gi"] as const;
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1024 && size % 1024 === 0 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `hugepages-${size}${units[unit]}`;
}
