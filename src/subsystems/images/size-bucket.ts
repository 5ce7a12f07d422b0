// pure
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const SIZE_BUCKETS: readonly (readonly [label: string, above: number])[] = [
  ["GT100GB", 100 * GIB],
  ["60GB-100GB", 60 * GIB],
  ["40GB-60GB", 40 * GIB],
  ["30GB-40GB", 30 * GIB],
  ["20GB-30GB", 20 * GIB],
  ["10GB-20GB", 10 * GIB],
  ["5GB-10GB", 5 * GIB],
  ["1GB-5GB", GIB],
  ["500MB-1GB", 500 * MIB],
  ["100MB-500MB", 100 * MIB],
  ["10MB-100MB", 10 * MIB],
  ["0-10MB", 0],
];

/** Label of the metric of pull times for an image's size. */
export function sizeBucket(bytes: number): string {
  return SIZE_BUCKETS.find(([, above]) => bytes > above)?.[0] ?? "N/A";
}
