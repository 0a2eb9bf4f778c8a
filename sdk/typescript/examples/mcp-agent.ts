// An agent of the AI SDK that pays over MCP. Run with `ai` 7, `@ai-sdk/mcp` 2 and `@ai-sdk/openai` 4 from npm.
//
// PURSER_MCP_URL=... PURSER_AGENT_KEY=... PURSER_PAYEE=... OPENAI_API_KEY=... node mcp-agent.ts

import { createMCPClient } from "@ai-sdk/mcp";
import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount } from "ai";

const headers = { Authorization: `Bearer ${process.env.PURSER_AGENT_KEY}` };
const purser = await createMCPClient({ transport: { type: "http", url: process.env.PURSER_MCP_URL ?? "", headers } });
try {
  const { text } = await generateText({
    model: openai("gpt-5.2"),
    tools: await purser.tools(),
    stopWhen: isStepCount(20),
    prompt: `Pay 0.25 USDC to ${process.env.PURSER_PAYEE}, as tea-saturday, memo saturday.`,
  });
  console.log(text);
} finally {
  await purser.close();
}
