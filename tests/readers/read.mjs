// Prints stile's fields of files as postal-mime sees them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [library, ...files] = process.argv.slice(2);
const { default: PostalMime, decodeWords } = createRequire(library)("postal-mime");

const seen = [];
for (const file of files) {
  const message = await PostalMime.parse(readFileSync(file));
  seen.push({
    fields: message.headers
      .map(({ key, value }, at) => ({ name: key, value: key === "stile-rendering" ? decodeWords(value) : value, at }))
      .filter(({ name }) => name.toLowerCase().includes("stile-")),
    names: message.headers.map(({ key }) => key),
    id: message.messageId,
  });
}
process.stdout.write(JSON.stringify(seen));
