# An agent of LangChain that pays over MCP: the same program as in docs/build/mcp.md, which says what it is run with.
#
# PURSER_MCP_URL=... PURSER_AGENT_KEY=... PURSER_PAYEE=... OPENAI_API_KEY=... python langchain_agent.py
#
# mypy: ignore-errors

import asyncio, os
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main():
    headers = {"Authorization": f"Bearer {os.environ['PURSER_AGENT_KEY']}"}
    purser = {"transport": "streamable_http", "url": os.environ["PURSER_MCP_URL"], "headers": headers}
    tools = await MultiServerMCPClient({"purser": purser}).get_tools()
    ada = create_agent("openai:gpt-5.2", tools)
    task = f"Pay 0.25 USDC to {os.environ['PURSER_PAYEE']}, as tea-friday, memo friday."
    answer = await ada.ainvoke({"messages": [("user", task)]})
    print(answer["messages"][-1].content)

asyncio.run(main())
