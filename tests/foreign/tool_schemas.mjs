// Gives the tools of a file, as `tools/list` has them, to the AI SDK's providers, and prints what is lost of their arguments.
import { readFileSync } from "node:fs";

const modules = process.env.PURSER_NODE_MODULES;
const { createGoogleGenerativeAI } = await import(`${modules}/@ai-sdk/google/dist/index.js`);
const { createOpenAI } = await import(`${modules}/@ai-sdk/openai/dist/index.js`);
const listed = JSON.parse(readFileSync(process.argv[2]));
const tools = listed.map(({ name, description, inputSchema }) => ({ type: "function", name, description, inputSchema }));

/** The request that a provider would send. */
const asked = async (make) => {
  let body;
  const fetch = async (_, init) => {
    body = JSON.parse(init.body);
    throw new Error("not sent");
  };
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];
  await make({ apiKey: "none", fetch }).doGenerate({ prompt, tools }).catch((error) => {
    if (body === undefined) throw error;
  });
  return body;
};

const keeps = (where, given, converted = {}) => {
  if (converted.type?.toLowerCase() !== given.type) console.log(`${where}: ${given.type} became ${converted.type}`);
  for (const [name, value] of Object.entries(given.properties ?? {})) keeps(`${where}.${name}`, value, converted.properties?.[name]);
  if (given.type === "array") keeps(`${where}[]`, given.items, converted.items);
};

const google = await asked((options) => createGoogleGenerativeAI(options)("gemini-2.5-pro"));
const openai = await asked((options) => createOpenAI(options).responses("gpt-5"));
const declared = google.tools.flatMap((tool) => tool.functionDeclarations ?? []);
// By place: agents and operators have tools of the same name.
for (const [place, { name, inputSchema }] of tools.entries()) {
  const { parameters, parametersJsonSchema } = declared[place];
  // A function without arguments has none there.
  if (Object.keys(inputSchema.properties).length > 0) keeps(`Google: ${name}`, inputSchema, parameters ?? parametersJsonSchema);
  keeps(`OpenAI: ${name}`, inputSchema, openai.tools[place].parameters);
}
console.log(`${tools.length} tools`);
