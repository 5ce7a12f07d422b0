// Prints the functions of a program, JSON, in the order in which they stand there:
//   node --expose-internals list-functions.cjs dist/agent.cjs
// The parser is the one that Node has for its own use: a build needs no package for it.
const { readFileSync } = require("node:fs");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");

const FUNCTIONS = new Set(["ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"]);
const CLASSES = new Set(["ClassDeclaration", "ClassExpression"]);
const OBJECT = "ObjectExpression";

/**
 * Names are paths through the functions, classes and objects around them, like `PodActor.start.~2`, so that they outlive edits elsewhere. What has no
 * name, or the name of one before it in the same place, has a number.
 */
function functionsOf(text) {
  const found = [];
  const visit = (node, scope, own, outerStart) => {
    let inside = scope;
    const isNamedObject = node.type === OBJECT && own !== undefined;
    if (FUNCTIONS.has(node.type) || CLASSES.has(node.type) || isNamedObject) {
      const name = node.id?.name ?? own ?? "";
      const count = scope.names.get(name) ?? 0;
      scope.names.set(name, count + 1);
      const word = name === "" || count > 0 ? `${name}~${count}` : name;
      inside = { path: [...scope.path, word], names: new Map(), parts: [] };
      if (FUNCTIONS.has(node.type)) {
        const start = outerStart ?? node.start;
        const range = { name: inside.path.join("."), start, end: node.end, parts: inside.parts };
        scope.parts.push(range);
        found.push(range);
      } else inside.parts = scope.parts;
    }
    for (const [key, value] of Object.entries(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type !== "string") continue;
        // A method is the value of its property, whose name belongs to its text.
        const isMethod =
          key === "value" &&
          (node.method ||
            node.kind === "get" ||
            node.kind === "set" ||
            node.type === "MethodDefinition");
        visit(child, inside, nameFor(node, key), isMethod ? node.start : undefined);
      }
    }
  };
  const program = acorn.parse(text, { ecmaVersion: "latest", allowReturnOutsideFunction: true });
  visit(program, { path: [], names: new Map(), parts: [] });
  return found.map(({ name, start, end, parts }) => ({
    name,
    start,
    end,
    own: ownOffset(end, parts),
  }));
}

/** The name that a function gets which stands there. */
function nameFor(parent, key) {
  const target =
    key === "init"
      ? parent.id
      : key === "right"
        ? parent.left
        : key === "value"
          ? parent.key
          : undefined;
  if (target?.type === "MemberExpression") return target.property.name;
  return target?.name ?? (typeof target?.value === "string" ? target.value : undefined);
}

/** The last offset that belongs to the function itself, and to none inside it. */
function ownOffset(end, parts) {
  let offset = end - 1;
  for (const part of parts.toReversed()) if (part.end === offset + 1) offset = part.start - 1;
  return offset;
}

process.stdout.write(JSON.stringify(functionsOf(readFileSync(process.argv[2], "latin1"))));
