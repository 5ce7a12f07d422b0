// How a program is given to V8: the same way when its code cache is made and when it is loaded, since V8 compares the length of the text.

const HEAD = "(function(exports,require,module,__filename,__dirname){\n";
const TAIL = "\n})";

/** The expression that V8 compiles: a function around the program, which is plain ASCII. */
export function wrappedText(program) {
  return Buffer.concat([Buffer.from(HEAD), program, Buffer.from(TAIL)]).latin1Slice();
}

/** Options of `vm.Script` by which lines of stack traces are those of the file. */
export function scriptOptions(filename) {
  return { filename, lineOffset: -1 };
}
