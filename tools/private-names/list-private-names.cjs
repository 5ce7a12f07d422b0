// Prints where the private names of TypeScript files stand, JSON: of each file `[start, end, class]`, in characters, `class`
// being the number of the class in the file that declares the name:
//   node --expose-internals list-private-names.cjs < files.json
// The parser is the one that Node has for its own use. Types are blanked out first, which moves nothing.
const { readFileSync } = require("node:fs");
const { stripTypeScriptTypes } = require("node:module");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");

function privateNamesOf(text) {
  const found = [];
  let classes = 0;
  const visit = (node, scopes) => {
    if (node.type === "ClassBody") {
      const names = node.body.flatMap(({ key }) =>
        key?.type === "PrivateIdentifier" ? [key.name] : [],
      );
      const declared = { number: classes, names: new Set(names) };
      classes += 1;
      visitChildren(node, [declared, ...scopes]);
      return;
    }
    if (node.type === "BinaryExpression" && node.left.type === "PrivateIdentifier")
      throw new Error(`#${node.left.name} in …: there is no plain name for that`);
    if (node.type === "PrivateIdentifier")
      found.push([node.start, node.end, scopes.find(({ names }) => names.has(node.name)).number]);
    else visitChildren(node, scopes);
  };
  const visitChildren = (node, scopes) => {
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof child?.type === "string") visit(child, scopes);
  };
  const options = { ecmaVersion: "latest", sourceType: "module" };
  visit(acorn.parse(stripTypeScriptTypes(text), options), []);
  return found;
}

const files = JSON.parse(readFileSync(0, "utf8"));
const names = files.map((file) => {
  try {
    return privateNamesOf(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`${file}: ${error.message}`, { cause: error });
  }
});
process.stdout.write(JSON.stringify(names));
