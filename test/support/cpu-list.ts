/** The CPUs of a list as the kernel writes it, e.g. `0-2,8`. */
export function numbersOf(list: string): readonly number[] {
  return list
    .split(",")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}
