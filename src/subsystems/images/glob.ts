// pure

/**
 * Whether a text is what a pattern with `*` (any run of characters) and `?` (any one) means. No regular
 * expression, whose cost an odd pattern could blow up.
 */
export function globMatches(glob: string, text: string): boolean {
  // Greedy with one place to go back to: linear in practice, quadratic at worst.
  let at = 0;
  let g = 0;
  let star = -1;
  let back = 0;
  while (at < text.length) {
    if (g < glob.length && (glob[g] === "?" || glob[g] === text[at])) {
      at += 1;
      g += 1;
    } else if (g < glob.length && glob[g] === "*") {
      star = g;
      back = at;
      g += 1;
    } else if (star >= 0) {
      g = star + 1;
      back += 1;
      at = back;
    } else return false;
  }
  while (glob[g] === "*") g += 1;
  return g === glob.length;
}
