// Where in a bundle the text of each source stands, read from its source map (https://tc39.es/ecma426/).

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Ranges of the bundle in its order, with the path of the source as the map has it. Lines and columns count from 0. */
export function sourceRanges({ mappings, sources }) {
  const ranges = [];
  let index = 0;
  for (const [lineNumber, line] of mappings.split(";").entries()) {
    let columnNumber = 0;
    for (const segment of line === "" ? [] : line.split(",")) {
      const [column, step] = numbersOf(segment);
      columnNumber += column;
      // A piece that the bundler made belongs to the source before it.
      if (step === undefined) continue;
      index += step;
      const source = sources[index];
      const last = ranges.at(-1);
      if (last?.source === source) continue;
      if (last) last.end = { lineNumber, columnNumber };
      ranges.push({ source, start: { lineNumber, columnNumber } });
    }
  }
  return ranges;
}

/** Numbers in Base64 VLQ: five bits in a digit, the lowest first, the sign in the lowest of all. */
function numbersOf(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const char of segment) {
    const digit = DIGITS.indexOf(char);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
